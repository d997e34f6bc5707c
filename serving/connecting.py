"""How two entities are connected, from their names."""

from __future__ import annotations

from collections.abc import Sequence

from ..models.names import normalise
from ..services import current_services
from ..stores.access import Access, current_identity
from ..stores.errors import InvalidInput
from ..stores.paths import shortest_path
from ..stores.protocols import EntityStore
from ..stores.records import PathStep

__all__ = ["connect"]


async def connect(
    source: str, target: str, *, namespaces: Sequence[str] = (), hops: int = 4
) -> list[PathStep] | None:
    """The relations of a path of fewest hops, at most `hops` (1 to 6); none when there is none.

    Empty `namespaces`: the configured default. Raises `InvalidInput` for a name that no entity
    bears, and `StoreUnavailable`.
    """
    services = await current_services()
    access = current_identity().access(tuple(namespaces) or (services.settings.namespace,))
    ends = [await _entity(services.entities, name, access) for name in (source, target)]
    return await shortest_path(services.graph, ends[0], ends[1], hops=hops, access=access)


async def _entity(entities: EntityStore, name: str, access: Access) -> int:
    """The most mentioned entity of this name."""
    found = await entities.find_exact([normalise(name)], access=access)
    if not found:
        raise InvalidInput(f"No entity is called {name!r}; an answer shows names as they are.")
    return min(found, key=lambda m: (-m["score"], -m["entity"]["df"], m["entity"]["id"]))["entity"][
        "id"
    ]
