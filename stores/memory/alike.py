"""Finding the entities whose names mean nearly the same, by looking at every pair."""

from __future__ import annotations

from ..access import Access
from ..alike import ALIKE, FOLLOWED, NEAREST
from .record import MemoryRecord
from .vectors import cosine
from .view import EntityRow

__all__ = ["alike_to", "compare_names"]


def compare_names(record: MemoryRecord, namespace: str, limit: int) -> int:
    """Compare the next names with all others of the namespace; returns how many there were."""
    held = [
        entity
        for entity in record.view.entities.values()
        if entity.namespace == namespace and entity.vector is not None
    ]
    fresh = [entity for entity in held if entity.id > record.compared[namespace]][:limit]
    for entity in fresh:
        for nearness, other in _nearest(entity, held):
            if nearness >= ALIKE:
                record.alike[entity.id][other] = nearness
                record.alike[other][entity.id] = nearness
        record.compared[namespace] = entity.id
    record.versions[namespace] += bool(fresh)
    return len(fresh)


def alike_to(record: MemoryRecord, entity: EntityRow, access: Access) -> list[EntityRow]:
    """The nearest of those that are still there and may be read."""
    entities, near_by = record.view.entities, record.alike.get(entity.id, {})
    found = [
        (-near, id_)
        for id_, near in near_by.items()
        if id_ in entities and entities[id_].open_to(access)
    ]
    return [entities[id_] for _, id_ in sorted(found)[:FOLLOWED]]


def _nearest(entity: EntityRow, held: list[EntityRow]) -> list[tuple[float, int]]:
    found = [
        (cosine(entity.vector, other.vector), other.id)
        for other in held
        if other is not entity and entity.vector is not None and other.vector is not None
    ]
    return sorted(found, key=lambda one: (-one[0], one[1]))[:NEAREST]
