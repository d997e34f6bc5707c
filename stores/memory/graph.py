"""The walk in memory: every walk of up to so many relations, and what ties entities to chunks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..access import Access
from ..records import Mention, PathStep, ReachedEntity, Relationship
from ..walk import HOP_FACTORS, Walk, check_weights
from .record import MemoryRecord
from .view import EntityRow, Relation

__all__ = ["EVIDENCE_TOLD", "MemoryGraphStore"]

EVIDENCE_TOLD = 20
"""Chunks of a relation's evidence that are told."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The best way to an entity over exactly so many relations. `product`: before hop factors."""

    entity: EntityRow
    product: float
    parent: Arrival | None = None
    relation: Relation | None = None

    @property
    def steps(self) -> list[Relation]:
        """The relations walked, from the seed."""
        before = [] if self.parent is None else self.parent.steps
        return before if self.relation is None else [*before, self.relation]

    @property
    def seed(self) -> int:
        """Where the way begins."""
        return self.entity.id if self.parent is None else self.parent.seed

    @property
    def score(self) -> float:
        """What the way is worth."""
        return self.product * HOP_FACTORS[len(self.steps)]

    @property
    def rank(self) -> tuple[float, int, str, bool]:
        """Smallest for the best of several arrivals at one entity over as many relations."""
        assert self.parent is not None and self.relation is not None
        backward = self.relation.target is not self.entity
        return -self.product, self.parent.entity.id, self.relation.type, backward


class MemoryGraphStore:
    """A `GraphStore` on a record in memory."""

    def __init__(self, record: MemoryRecord) -> None:
        self._record = record

    async def expand(
        self, seeds: Mapping[int, float], *, walk: Walk, access: Access
    ) -> list[ReachedEntity]:
        """The seeds, then the `walk.limit` best entities by path product; each group best first.

        Of parallel relations that are worth as much the first type by name is told, and of two
        that differ in direction only the one walked forward.
        """
        check_weights(seeds, "score")
        entities = self._record.view.entities
        roots = {
            id_: Arrival(entities[id_], score)
            for id_, score in seeds.items()
            if id_ in entities and entities[id_].open_to(access)
        }
        found: dict[int, Arrival] = {}
        layer: Iterable[Arrival] = roots.values()
        for _ in range(walk.hops):
            layer = _best_each(_onwards(layer, walk, access))
            for arrival in layer:
                id_ = arrival.entity.id
                # What is not better than with fewer hops, or than the seed is itself, is no news.
                known = found.get(id_, roots.get(id_))
                if known is None or arrival.score > known.score:
                    found[id_] = arrival
        kept = {arrival.entity.id: arrival for arrival in _ordered(found.values())[: walk.limit]}
        first = [kept.pop(id_, root) for id_, root in roots.items()]
        return [_told(arrival) for arrival in [*_ordered(first), *_ordered(kept.values())]]

    async def mentions_of(
        self,
        weights: Mapping[int, float],
        *,
        limit: int,
        always: Sequence[int],
        access: Access,
    ) -> list[Mention]:
        """The mentions of the given entities in the `limit` heaviest chunks and in `always`."""
        check_weights(weights, "weight")
        view = self._record.view
        mentions = [
            mention
            for id_ in weights
            if id_ in view.entities
            for mention in view.entities[id_].mentions
            if mention.chunk.open_to(access)
        ]
        heavy = defaultdict[int, float](float)
        for mention in mentions:
            heavy[mention.chunk.id] += weights[mention.entity.id]
        chosen = {*sorted(heavy, key=lambda id_: (-heavy[id_], id_))[:limit], *always}
        return [
            Mention(
                entity=mention.entity.id,
                chunk=mention.chunk.id,
                count=mention.count,
                subject=mention.subject,
                chunk_entities=len(mention.chunk.mentions),
            )
            for mention in sorted(mentions, key=lambda one: (one.chunk.id, one.entity.id))
            if mention.chunk.id in chosen
        ]

    async def relationships_among(
        self, entities: Sequence[int], *, limit: int, access: Access
    ) -> list[Relationship]:
        """The `limit` heaviest relations with both ends among `entities`."""
        found = [
            one
            for one in self._record.view.relations.values()
            if one.source.id in entities and one.target.id in entities and one.open_to(access)
        ]
        return [
            Relationship(
                id=one.id,
                source=one.source.id,
                target=one.target.id,
                type=one.type,
                weight=one.weight,
                confidence=one.confidence,
                count=len(one.evidence),
                evidence=sorted(c.id for c in one.evidence if c.open_to(access))[:EVIDENCE_TOLD],
            )
            for one in sorted(found, key=lambda one: (-one.weight, one.id))[:limit]
        ]

    async def healthy(self) -> None:
        """Memory always answers."""


def _onwards(layer: Iterable[Arrival], walk: Walk, access: Access) -> Iterable[Arrival]:
    """Every way that goes on by one relation, in either direction."""
    for arrival in layer:
        for relation in arrival.entity.relations:
            factor = walk.factor(relation.type)
            if factor > 0 and relation.open_to(access) and walk.open_to(*relation.seen):
                there = relation.target if relation.source is arrival.entity else relation.source
                product = arrival.product * relation.weight * factor
                yield Arrival(there, product, arrival, relation)


def _best_each(arrivals: Iterable[Arrival]) -> list[Arrival]:
    """The best arrival at each entity; a worse one stays worse however it goes on."""
    best: dict[int, Arrival] = {}
    for arrival in sorted(arrivals, key=lambda one: one.rank):
        best.setdefault(arrival.entity.id, arrival)
    return list(best.values())


def _ordered(arrivals: Iterable[Arrival]) -> list[Arrival]:
    return sorted(arrivals, key=lambda one: (-one.score, one.entity.id))


def _told(arrival: Arrival) -> ReachedEntity:
    return ReachedEntity(
        **arrival.entity.told(),
        hop=len(arrival.steps),
        score=arrival.score,
        seed=arrival.seed,
        path=[
            PathStep(
                source=step.source.name,
                type=step.type,
                target=step.target.name,
                weight=step.weight,
            )
            for step in arrival.steps
        ],
    )
