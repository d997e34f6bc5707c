"""The walk over the record: a pruned frontier, one statement a hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, LiteralString, NamedTuple, cast

from ..access import Access
from ..records import Mention, PathStep, ReachedEntity, Relationship
from ..walk import HOP_FACTORS, Walk, check_weights
from . import graph_queries as queries
from .database import Database
from .queries import access_params, numbers

__all__ = ["PostgresGraphStore"]

MENTION_DEPTH = 200
"""Best mentions of an entity that make candidates, shared among the caller's audiences; a rarer
entity's mentions are all read. Many entities to a small depth find more than few to a large one."""
HEAD = 16
"""Nodes that are probed before the others, while nothing bounds what they lead to."""
FEWEST = 100
"""Chunks for which candidates are sought, when fewer are wanted."""
MENTIONS_DRAWN = 150
"""Mentions that make candidates, for each chunk that is wanted."""
MENTION_CANDIDATES = 2
"""Chunks whose weight is added up in full, for each that is wanted."""


class PostgresGraphStore:
    """A `GraphStore` on the relations and mentions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def expand(
        self, seeds: Mapping[int, float], *, walk: Walk, access: Access
    ) -> list[ReachedEntity]:
        """The seeds, then the `walk.limit` best entities by path product; each group best first.

        After each hop only the `limit` best can still matter, and the weakest of them bounds from
        below the weight a further relation must have to improve on it: weights and hop factors are
        at most 1, so a path never gains by going on.
        """
        if not seeds:
            return []
        check_weights(seeds, "score")
        roots = await self._read(seeds, access=access)
        reached: dict[int, ReachedEntity] = {}
        frontier = roots
        for hop in range(1, walk.hops + 1):
            if not frontier:
                break
            rows = await self._step(frontier, roots, reached, hop, walk, access)
            frontier = {row["id"]: _arrive(row, frontier[row["parent"]], hop) for row in rows}
            for entity in frontier.values():
                known = reached.get(entity["id"])
                if known is None or entity["score"] > known["score"]:
                    reached[entity["id"]] = entity
        best = {entity["id"]: entity for entity in _ordered(reached)[: walk.limit]}
        # A weak seed that a strong one leads to is better explained by the path.
        kept = {id_: best.pop(id_, entity) for id_, entity in roots.items()}
        return [*_ordered(kept), *_ordered(best)]

    async def mentions_of(
        self, weights: Mapping[int, float], *, limit: int, always: Sequence[int], access: Access
    ) -> list[Mention]:
        """The mentions of the given entities in the `limit` heaviest chunks and in `always`."""
        if not weights:
            return []
        check_weights(weights, "weight")
        rows = await self._database.fetch(
            queries.MENTIONS_OF,
            {
                "ids": numbers(weights),
                "weights": numbers(weights.values()),
                "limit": limit,
                "always": numbers(always),
                "depth": MENTION_DEPTH,
                "drawn": MENTIONS_DRAWN * max(limit, FEWEST),
                "candidates": MENTION_CANDIDATES * max(limit, FEWEST),
                **access_params(access),
            },
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
            {"ids": numbers(entities), "limit": limit, **access_params(access)},
        )
        return cast("list[Relationship]", rows)

    async def healthy(self) -> None:
        """Return when the database answers."""
        await self._database.fetch("select 1", {})

    async def _read(
        self, seeds: Mapping[int, float], *, access: Access
    ) -> dict[int, ReachedEntity]:
        rows = await self._database.fetch(
            queries.READ_ENTITIES, {"ids": numbers(seeds), **access_params(access)}
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

    async def _step(
        self,
        frontier: Mapping[int, ReachedEntity],
        roots: Mapping[int, ReachedEntity],
        reached: Mapping[int, ReachedEntity],
        hop: int,
        walk: Walk,
        access: Access,
    ) -> list[dict[str, Any]]:
        """The entities one relation beyond the frontier that the result may still need.

        While fewer than `limit` entities are known nothing bounds what to read; then the best of
        the frontier go first, and what they bring bounds the rest.
        """
        ways = _ways(walk)
        if ways is None:
            return []
        probe = partial(self._probe, roots, hop, walk, ways, access)
        if len(frontier) <= HEAD or len(reached) >= walk.limit:
            return await probe(frontier, reached)
        order = sorted(frontier, key=lambda id_: (-frontier[id_]["score"], id_))
        first = await probe({id_: frontier[id_] for id_ in order[:HEAD]}, reached)
        known = {row["id"]: row for row in _merged(reached, first)}
        rest = await probe({id_: frontier[id_] for id_ in order[HEAD:]}, known)
        best: dict[int, dict[str, Any]] = {}
        for row in sorted([*first, *rest], key=_foremost):
            best.setdefault(row["id"], row)
        return list(best.values())

    async def _probe(
        self,
        roots: Mapping[int, ReachedEntity],
        hop: int,
        walk: Walk,
        ways: _Ways,
        access: Access,
        frontier: Mapping[int, ReachedEntity],
        reached: Mapping[int, Mapping[str, Any]],
    ) -> list[dict[str, Any]]:
        """The same from all of the frontier at once.

        Two entities may share several relations, and seeds need no place, so that the `limit`
        heaviest relations of a node can be fewer than `limit` entities. When what was left unread
        might have a place, more is read.
        """
        fanout = walk.limit + walk.limit // 4
        floor = _weakest(reached.values(), walk.limit)[0]
        while True:
            rows = await self._database.fetch(
                ways.query,
                {
                    "ids": numbers(frontier),
                    "scores": numbers(entity["score"] for entity in frontier.values()),
                    "seeds": numbers(roots),
                    "worth": numbers(entity["score"] for entity in roots.values()),
                    "ratio": HOP_FACTORS[hop] / HOP_FACTORS[hop - 1],
                    "floor": floor,
                    "types": list(ways.named),
                    "factors": list(ways.named.values()),
                    "closed": list(walk.type_weights),
                    "default": walk.default_weight,
                    "date_from": walk.date_from,
                    "date_to": walk.date_to,
                    "fanout": fanout,
                    "limit": walk.limit,
                    **access_params(access),
                },
            )
            found = [row for row in rows if row["id"] is not None]
            if rows[0]["cut_score"] is None:
                return found
            floor, id_ = _weakest(_merged(reached, found), walk.limit)
            if (-rows[0]["cut_score"], rows[0]["cut_id"]) >= (-floor, id_):
                return found
            fanout *= 4


class _Ways(NamedTuple):
    """The statement of a hop, and the types that have a weight of their own."""

    query: LiteralString
    named: Mapping[str, float]


def _ways(walk: Walk) -> _Ways | None:
    """How to leave a node; None when every relation is closed."""
    named = {kind: factor for kind, factor in walk.type_weights.items() if factor > 0}
    others = walk.default_weight > 0
    if not named and not others:
        return None
    dated = walk.date_from is not None or walk.date_to is not None
    return _Ways(queries.expand_query(named=bool(named), others=others, dated=dated), named)


def _foremost(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Of several ways to an entity the one worth most, then as the statement orders them."""
    return (-row["score"], row["parent"], row["relation"], not row["forward"])


def _ordered(entities: Mapping[int, ReachedEntity]) -> list[ReachedEntity]:
    return sorted(entities.values(), key=lambda entity: (-entity["score"], entity["id"]))


def _merged(
    reached: Mapping[int, Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """What is known so far with what a hop brought, each at its best."""
    best: dict[int, Mapping[str, Any]] = dict(reached)
    for row in rows:
        if row["id"] not in best or row["score"] > best[row["id"]]["score"]:
            best[row["id"]] = row
    return list(best.values())


def _weakest(entities: Any, limit: int) -> tuple[float, int]:
    """Score and id of the last of the best `limit`; (0, 0) while there is room."""
    best = sorted((-entity["score"], entity["id"]) for entity in entities)
    return (-best[limit - 1][0], best[limit - 1][1]) if len(best) >= limit else (0.0, 0)


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
