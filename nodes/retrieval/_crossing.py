"""From one namespace into another: by names that both know."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from ...models.names import normalise
from ...stores.access import Access
from ...stores.protocols import EntityStore
from ...stores.records import Entity, PathStep, ReachedEntity

__all__ = ["beyond", "merged", "twins_of"]

CROSSING = 20
"""Entities whose names are looked up elsewhere, the best reached."""
SAME_NAME = "SAME_NAME"
"""What the step of a path is called that leads from one namespace into another."""
DISCOUNT = 0.5
"""What that step is worth: a name alone does not make two entities one."""


async def twins_of(
    reached: Sequence[ReachedEntity], *, entities: EntityStore, access: Access
) -> dict[int, ReachedEntity]:
    """What goes by the names of the best reached in other namespaces of `access`, by id.

    A twin has the path of the entity whose name it bears, and one step more.
    """
    best = sorted(reached, key=lambda entity: (-entity["score"], entity["id"]))[:CROSSING]
    names = list(dict.fromkeys(normalise(entity["name"]) for entity in best))
    found = await asyncio.gather(
        *(
            entities.find_exact(names, access=replace(access, namespaces=(namespace,)))
            for namespace in access.namespaces
        )
    )
    home: dict[int, str] = {}
    bearers: dict[str, list[Entity]] = defaultdict(list)
    for namespace, matches in zip(access.namespaces, found, strict=True):
        for match in matches:
            if match["via"] == "exact":
                home[match["entity"]["id"]] = namespace
                bearers[match["query"]].append(match["entity"])
    known = {entity["id"] for entity in reached}
    twins: dict[int, ReachedEntity] = {}
    for entity in best:
        for other in bearers[normalise(entity["name"])]:
            if other["id"] not in known and home[other["id"]] != home.get(entity["id"]):
                twins.setdefault(other["id"], _twin(entity, other))
    return twins


def _twin(entity: ReachedEntity, other: Entity) -> ReachedEntity:
    step = PathStep(source=entity["name"], type=SAME_NAME, target=other["name"], weight=DISCOUNT)
    return ReachedEntity(
        **other,
        hop=entity["hop"] + 1,
        score=entity["score"] * DISCOUNT,
        seed=entity["seed"],
        path=[*entity["path"], step],
    )


def beyond(twins: dict[int, ReachedEntity], walked: Sequence[ReachedEntity]) -> list[ReachedEntity]:
    """What a walk from the twins reached, with the paths that led to them put before its own."""
    return [
        ReachedEntity(
            id=entity["id"],
            name=entity["name"],
            type=entity["type"],
            df=entity["df"],
            hop=twins[entity["seed"]]["hop"] + entity["hop"],
            score=entity["score"],
            seed=twins[entity["seed"]]["seed"],
            path=[*twins[entity["seed"]]["path"], *entity["path"]],
        )
        for entity in walked
    ]


def merged(
    reached: Sequence[ReachedEntity],
    further: Sequence[ReachedEntity],
    *,
    seeds: Collection[int],
    limit: int,
) -> list[ReachedEntity]:
    """The seeds, then the `limit` best others; each entity by its best path, ties by id."""
    best: dict[int, ReachedEntity] = {}
    for entity in (*reached, *further):
        held = best.get(entity["id"])
        if held is None or entity["score"] > held["score"]:
            best[entity["id"]] = entity
    order = sorted(best.values(), key=lambda entity: (-entity["score"], entity["id"]))
    others = [entity for entity in order if entity["id"] not in seeds]
    return [entity for entity in order if entity["id"] in seeds] + others[:limit]
