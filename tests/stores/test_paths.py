"""The shortest path between two entities, held against a search of the whole graph."""

from __future__ import annotations

import random
from collections import deque

import pytest

from clew.models.embeddings import unpack
from clew.models.names import normalise
from clew.stores.errors import InvalidInput
from clew.stores.memory import MemoryDocumentStore, MemoryGraphStore, MemoryRecord
from clew.stores.paths import shortest_path
from clew.stores.records import PathStep
from clew.tests.stores.postgres.drafts import DIMENSION, chunk, document, reader, relation

NAMES = [f"n{i}" for i in range(14)]


async def graph_of(pairs: list[tuple[str, str, float]]) -> tuple[MemoryGraphStore, dict[str, int]]:
    record = MemoryRecord(normalise=normalise, unpack=unpack, dimension=DIMENSION)
    relations = [relation(a, "KNOWS", b, confidence=sure) for a, b, sure in pairs]
    await MemoryDocumentStore(record).write(
        [document("all", chunk("x", NAMES), relations=relations)], access=reader()
    )
    return MemoryGraphStore(record), {entity.name: entity.id for entity in record.entities.values()}


def distance(pairs: list[tuple[str, str, float]], source: str, target: str) -> int | None:
    """Relations between them, by searching in breadth."""
    far, queue = {source: 0}, deque([source])
    while queue:
        here = queue.popleft()
        for a, b, _ in pairs:
            for one, other in ((a, b), (b, a)):
                if one == here and other not in far:
                    far[other] = far[here] + 1
                    queue.append(other)
    return far.get(target)


def connects(path: list[PathStep], source: str, target: str) -> bool:
    here = source
    for step in path:
        if here not in (step["source"], step["target"]):
            return False
        here = step["target"] if here == step["source"] else step["source"]
    return here == target


@pytest.mark.parametrize("seed", range(8))
async def test_a_path_has_as_few_relations_as_there_can_be(seed: int) -> None:
    rng = random.Random(seed)
    pairs = []
    for _ in range(rng.randint(9, 18)):
        one, other = rng.sample(NAMES, 2)
        pairs.append((one, other, rng.choice([0.2, 0.6, 1.0])))
    graph, ids = await graph_of(pairs)
    for source in NAMES:
        for target in NAMES:
            known = distance(pairs, source, target)
            for hops in (1, 3, 6):
                found = await shortest_path(
                    graph, ids[source], ids[target], hops=hops, access=reader()
                )
                if known is None or known > hops:
                    assert found is None
                else:
                    assert found is not None
                    assert len(found) == known
                    assert connects(found, source, target)


async def test_of_equally_short_paths_the_surest_is_told() -> None:
    pairs = [("n0", "n1", 0.3), ("n1", "n2", 0.3), ("n0", "n3", 0.9), ("n3", "n2", 0.9)]
    graph, ids = await graph_of(pairs)
    found = await shortest_path(graph, ids["n0"], ids["n2"], hops=2, access=reader())
    assert found is not None
    assert [step["source"] for step in found] == ["n0", "n3"]


async def test_who_may_not_read_an_end_is_told_of_no_path() -> None:
    graph, ids = await graph_of([("n0", "n1", 1.0)])
    stranger = reader(namespace="elsewhere")
    assert await shortest_path(graph, ids["n0"], ids["n1"], hops=3, access=stranger) is None
    assert await shortest_path(graph, ids["n0"], ids["n0"], hops=3, access=stranger) is None


@pytest.mark.parametrize("hops", [0, 7])
async def test_a_path_is_asked_for_within_bounds(hops: int) -> None:
    graph, ids = await graph_of([("n0", "n1", 1.0)])
    with pytest.raises(InvalidInput, match="1 to 6 hops"):
        await shortest_path(graph, ids["n0"], ids["n1"], hops=hops, access=reader())
