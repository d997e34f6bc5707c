"""The walk over the copy of the graph: a pruned frontier, one statement a hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..access import Access
from ..records import Mention, PathStep, ReachedEntity, Relationship
from ..walk import HOP_FACTORS, Walk, check_weights
from . import queries
from .connection import Neo4jConnection, Neo4jTransaction

__all__ = ["Neo4jGraphStore"]

EVIDENCE = 20
"""How many chunks of a relation's evidence are told."""

# The server multiplies in another order than the bound was divided in; a path that is just as good
# must not be lost to the last bit of it.
_SLACK = 1 - 1e-9


class Neo4jGraphStore:
    """A `GraphStore` on what `Neo4jProjection` wrote."""

    def __init__(self, connection: Neo4jConnection) -> None:
        self._connection = connection
        self._dialect = connection.dialect

    async def expand(
        self, seeds: Mapping[int, float], *, walk: Walk, access: Access
    ) -> list[ReachedEntity]:
        """The seeds, then the `walk.limit` best entities by path product; each group best first.

        After each hop only the `limit` best can still matter, since a path never gains by going
        on, and the weakest of them bounds from below what a further relation must be worth. Of one
        entity's neighbours no more than `limit` can be among the best, besides the seeds, which
        need not take a place; so many are asked for.
        """
        check_weights(seeds, "score")
        if not seeds:
            return []

        async def work(transaction: Neo4jTransaction) -> list[ReachedEntity]:
            readable = await self._readable(transaction, access)
            rows = await self._entities(transaction, seeds, readable, access)
            progress = _Progress([_root(row, seeds[row["id"]]) for row in rows], walk.limit)
            for hop in range(1, walk.hops + 1):
                frontier = progress.frontier(hop)
                if not frontier:
                    break
                found = await transaction.run(
                    queries.EXPAND_IN_PERIOD if walk.date_from or walk.date_to else queries.EXPAND,
                    {
                        "frontier": frontier,
                        "factor": HOP_FACTORS[hop],
                        "factors": [
                            {"type": name, "weight": float(weight)}
                            for name, weight in sorted(walk.type_weights.items())
                        ],
                        "default": float(walk.default_weight),
                        "date_from": walk.date_from or "0000-00-00",
                        "date_to": walk.date_to or "9999-99-99",
                        "fanout": walk.limit + len(rows),
                        **self._access_params(readable, access),
                    },
                )
                progress.arrive(found, hop)
            return progress.result()

        return await self._connection.read(work)

    async def mentions_of(
        self,
        weights: Mapping[int, float],
        *,
        limit: int,
        always: Sequence[int],
        access: Access,
    ) -> list[Mention]:
        """The mentions of the given entities in the `limit` heaviest chunks and in `always`.

        Exact; of chunks of the same weight those of lower id. Ordered by chunk, then by entity.
        """
        check_weights(weights, "weight")
        if not weights:
            return []

        async def work(transaction: Neo4jTransaction) -> list[Mention]:
            readable = await self._readable(transaction, access)
            if not readable:
                return []
            rows = await transaction.run(
                queries.MENTIONS_OF,
                {
                    "weights": [
                        {"id": id_, "weight": float(weight)}
                        for id_, weight in sorted(weights.items())
                    ],
                    "ids": sorted(weights),
                    "always": sorted(set(always)),
                    "limit": max(limit, 0),
                    **self._access_params(readable, access),
                },
            )
            return cast("list[Mention]", rows)

        return await self._connection.read(work)

    async def relationships_among(
        self, entities: Sequence[int], *, limit: int, access: Access
    ) -> list[Relationship]:
        """The `limit` heaviest relations with both ends among `entities`, ties by id.

        Of each relation's readable evidence the first 20 chunks by id are told.
        """
        if not entities:
            return []

        async def work(transaction: Neo4jTransaction) -> list[Relationship]:
            readable = await self._readable(transaction, access)
            ends = await self._entities(transaction, entities, readable, access)
            if not ends:
                return []
            rows = await transaction.run(
                queries.RELATIONSHIPS_AMONG,
                {
                    "ids": [row["id"] for row in ends],
                    "limit": max(limit, 0),
                    **self._access_params(readable, access),
                },
            )
            return [self._relationship(row, set(readable)) for row in rows]

        return await self._connection.read(work)

    async def healthy(self) -> None:
        """Return when the database answers. Raises `StoreUnavailable`, `StoreMisconfigured`."""

        async def work(transaction: Neo4jTransaction) -> None:
            await transaction.run(queries.PING, {})

        await self._connection.read(work)

    async def _readable(self, transaction: Neo4jTransaction, access: Access) -> list[int]:
        """The audiences the caller belongs to."""
        rows = await transaction.run(
            queries.AUDIENCES,
            {
                "namespaces": list(access.namespaces),
                "principals": self._dialect.members(access.principals),
            },
        )
        return [row["id"] for row in rows]

    async def _entities(
        self,
        transaction: Neo4jTransaction,
        ids: Mapping[int, float] | Sequence[int],
        readable: Sequence[int],
        access: Access,
    ) -> list[dict[str, Any]]:
        """Those of the entities that may be read, ordered by id."""
        if not readable:
            return []
        params = {"ids": sorted(set(ids)), **self._access_params(readable, access)}
        return await transaction.run(queries.READ_SEEDS, params)

    def _access_params(self, readable: Sequence[int], access: Access) -> dict[str, Any]:
        return {
            "readable": list(readable),
            "audiences": self._dialect.members(readable),
            "namespaces": list(access.namespaces),
        }

    def _relationship(self, row: dict[str, Any], readable: set[int]) -> Relationship:
        audiences = self._dialect.unpack_numbers(row.pop("evidence_audiences"))
        chunks = self._dialect.unpack_numbers(row.pop("evidence"))
        told = [
            chunk for chunk, audience in zip(chunks, audiences, strict=True) if audience in readable
        ]
        return cast("Relationship", {**row, "evidence": told[:EVIDENCE]})


@dataclass(slots=True)
class _Visit:
    """An entity and the best path to it; `product` is its score before the hop factor."""

    entity: ReachedEntity
    product: float


class _Progress:
    """What a walk knows: the seeds, what it has reached, and where it goes on from."""

    def __init__(self, roots: Sequence[_Visit], limit: int) -> None:
        self._roots = {visit.entity["id"]: visit for visit in roots}
        self._limit = limit
        self._reached: dict[int, _Visit] = {}
        self._best: list[_Visit] = []
        self._current = dict(self._roots)

    def frontier(self, hop: int) -> list[dict[str, Any]]:
        """Where the next hop starts, and what a relation from there must be worth at least."""
        full = len(self._best) == self._limit
        floor = self._best[-1].entity["score"] * _SLACK if full else 0.0
        rows = []
        for id_, visit in sorted(self._current.items()):
            value = visit.product * HOP_FACTORS[hop]
            if value > 0 and value >= floor:
                rows.append({"id": id_, "product": visit.product, "bound": floor / value})
        return rows

    def arrive(self, rows: Sequence[Mapping[str, Any]], hop: int) -> None:
        """Take in what one hop found; what is no better than known before is left out."""
        fresh: dict[int, _Visit] = {}
        for row in rows:
            known = self._reached.get(row["id"]) or self._roots.get(row["id"])
            if row["score"] > (known.entity["score"] if known else 0):
                fresh[row["id"]] = self._visit(row, hop)
        self._reached |= fresh
        self._best = _ordered(self._reached.values())[: self._limit]
        kept = {visit.entity["id"] for visit in self._best}
        self._current = {id_: visit for id_, visit in fresh.items() if id_ in kept}

    def result(self) -> list[ReachedEntity]:
        """The seeds, each by its own score or a better path, then the rest of the best."""
        best = {visit.entity["id"]: visit for visit in self._best}
        seeds = [best.pop(id_, visit) for id_, visit in self._roots.items()]
        return [visit.entity for visit in (*_ordered(seeds), *_ordered(best.values()))]

    def _visit(self, row: Mapping[str, Any], hop: int) -> _Visit:
        arrival = min(row["arrivals"], key=lambda arrival: arrival["parent"])
        way = min(arrival["ways"], key=lambda way: way["id"])
        parent = self._current[arrival["parent"]].entity
        ends = (parent["name"], row["name"])
        source, target = ends if way["source"] == parent["id"] else reversed(ends)
        step = PathStep(source=source, type=way["type"], target=target, weight=way["weight"])
        entity = ReachedEntity(
            id=row["id"],
            name=row["name"],
            type=row["type"],
            df=row["df"],
            hop=hop,
            score=row["score"],
            seed=parent["seed"],
            path=[*parent["path"], step],
        )
        return _Visit(entity, arrival["product"])


def _root(row: Mapping[str, Any], score: float) -> _Visit:
    entity = ReachedEntity(
        id=row["id"],
        name=row["name"],
        type=row["type"],
        df=row["df"],
        hop=0,
        score=float(score),
        seed=row["id"],
        path=[],
    )
    return _Visit(entity, float(score))


def _ordered(visits: Any) -> list[_Visit]:
    return sorted(visits, key=lambda visit: (-visit.entity["score"], visit.entity["id"]))
