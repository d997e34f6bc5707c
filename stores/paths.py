"""How two entities are connected, on any store of the graph."""

from __future__ import annotations

from .access import Access
from .errors import InvalidInput
from .protocols import GraphStore
from .records import PathStep, ReachedEntity
from .walk import MAX_HOPS, Walk

__all__ = ["BREADTH", "MOST_HOPS", "shortest_path"]

BREADTH = 2000
"""Best entities kept around each end; a path through none of them is not found."""
MOST_HOPS = 2 * MAX_HOPS


async def shortest_path(
    graph: GraphStore, source: int, target: int, *, hops: int, access: Access
) -> list[PathStep] | None:
    """The relations of a path of fewest hops, at most `hops` (1 to 6), from source to target.

    Of several the one worth most, then the one that meets in the entity of lowest id. None when
    there is none among the best `BREADTH` entities around each end, or an end cannot be read;
    empty when both ends are the same. Raises `InvalidInput`.
    """
    if not 1 <= hops <= MOST_HOPS:
        raise InvalidInput(f"A path has 1 to {MOST_HOPS} hops, not {hops}.")
    sides: dict[tuple[int, int], dict[int, ReachedEntity]] = {}

    async def around(end: int, far: int) -> dict[int, ReachedEntity]:
        if (end, far) not in sides:
            walk = Walk(hops=max(far, 1), limit=BREADTH)
            found = await graph.expand({end: 1.0}, walk=walk, access=access)
            sides[end, far] = {entity["id"]: entity for entity in found if entity["hop"] <= far}
        return sides[end, far]

    for length in range(hops + 1):
        near, far = await around(source, -(-length // 2)), await around(target, length // 2)
        meeting = sorted(
            near.keys() & far.keys(), key=lambda id_: (-near[id_]["score"] * far[id_]["score"], id_)
        )
        if meeting:
            return [*near[meeting[0]]["path"], *reversed(far[meeting[0]]["path"])]
    return None
