"""The walk over the record: a pruned frontier, one statement a hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from psycopg.types.json import Json

from ..access import Access
from ..records import Mention, PathStep, ReachedEntity, Relationship
from . import queries
from .database import Database
from .queries import access_params

__all__ = ["HOP_FACTORS", "PostgresGraphStore"]

HOP_FACTORS = (1.0, 1.0, 0.6, 0.3)
"""What a path of 0, 1, 2, 3 relations is worth, before its weights."""


class PostgresGraphStore:
    """A `GraphStore` on the relations and mentions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def expand(
        self,
        seeds: Mapping[int, float],
        *,
        hops: int,
        limit: int,
        fanout: int,
        type_weights: Mapping[str, float],
        access: Access,
    ) -> list[ReachedEntity]:
        """The seeds, then the `limit` entities with the best path product within `hops`.

        After each hop only the `limit` best can still matter, and the weakest of them bounds from
        below the weight a further relation must have to improve on it: weights and hop factors are
        at most 1, so a path never gains by going on.
        """
        if not seeds:
            return []
        roots = await self._read(seeds, access=access)
        reached: dict[int, ReachedEntity] = {}
        frontier = roots
        for hop in range(1, hops + 1):
            if not frontier:
                break
            rows = await self._database.fetch(
                queries.EXPAND,
                {
                    "ids": list(frontier),
                    "scores": [entity["score"] for entity in frontier.values()],
                    "seeds": list(roots),
                    "worth": [entity["score"] for entity in roots.values()],
                    "ratio": HOP_FACTORS[hop] / HOP_FACTORS[hop - 1],
                    "floor": _weakest(reached, limit),
                    "factors": Json(dict(type_weights)),
                    "fanout": fanout,
                    "limit": limit,
                    **access_params(access),
                },
            )
            frontier = {row["id"]: _arrive(row, frontier[row["parent"]], hop) for row in rows}
            for entity in frontier.values():
                known = reached.get(entity["id"])
                if known is None or entity["score"] > known["score"]:
                    reached[entity["id"]] = entity
        best = {entity["id"]: entity for entity in _ordered(reached)[:limit]}
        # A weak seed that a strong one leads to is better explained by the path.
        kept = {id_: best.pop(id_, entity) for id_, entity in roots.items()}
        return [*_ordered(kept), *_ordered(best)]

    async def mentions_of(
        self, entities: Sequence[int], *, fanout: int, access: Access
    ) -> list[Mention]:
        """Up to `fanout` mentions of each entity: subjects first, then by count."""
        if not entities:
            return []
        rows = await self._database.fetch(
            queries.MENTIONS_OF,
            {"ids": list(entities), "fanout": fanout, **access_params(access)},
        )
        return cast("list[Mention]", rows)

    async def relationships_among(
        self, entities: Sequence[int], *, limit: int, access: Access
    ) -> list[Relationship]:
        """The `limit` heaviest relations with both ends among `entities`."""
        if not entities:
            return []
        rows = await self._database.fetch(
            queries.RELATIONSHIPS_AMONG,
            {"ids": list(entities), "limit": limit, **access_params(access)},
        )
        return cast("list[Relationship]", rows)

    async def _read(
        self, seeds: Mapping[int, float], *, access: Access
    ) -> dict[int, ReachedEntity]:
        rows = await self._database.fetch(
            queries.READ_ENTITIES, {"ids": list(seeds), **access_params(access)}
        )
        return {
            row["id"]: ReachedEntity(
                id=row["id"],
                name=row["name"],
                type=row["type"],
                df=row["df"],
                hop=0,
                score=seeds[row["id"]],
                seed=row["id"],
                path=[],
            )
            for row in rows
        }


def _ordered(entities: Mapping[int, ReachedEntity]) -> list[ReachedEntity]:
    return sorted(entities.values(), key=lambda entity: (-entity["score"], entity["id"]))


def _weakest(reached: Mapping[int, ReachedEntity], limit: int) -> float:
    """The score a newcomer must reach to be among the best `limit`; 0 while there is room."""
    if len(reached) < limit:
        return 0.0
    return _ordered(reached)[limit - 1]["score"]


def _arrive(row: Mapping[str, Any], parent: ReachedEntity, hop: int) -> ReachedEntity:
    source, target = (parent["name"], row["name"])
    if not row["forward"]:
        source, target = target, source
    step = PathStep(source=source, type=row["relation"], target=target, weight=row["weight"])
    return ReachedEntity(
        id=row["id"],
        name=row["name"],
        type=row["type"],
        df=row["df"],
        hop=hop,
        score=row["score"],
        seed=parent["seed"],
        path=[*parent["path"], step],
    )
