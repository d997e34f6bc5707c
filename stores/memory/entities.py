"""Entities in memory: by name, by alias, across a typo, by their words and by meaning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from rapidfuzz.distance import DamerauLevenshtein

from ..access import Access
from ..protocols import Vector
from ..records import ChunkEntity, Hit, LinkVia, NameMatch, NamespaceStats
from .chunks import best
from .record import MemoryRecord
from .vectors import Half, cosine, question_vector
from .view import EntityRow

__all__ = ["MemoryEntityStore"]

TYPABLE = range(4, 65)
"""Letters of a word that may hold a typo."""

ALIAS_SCORE = 0.95
TYPO_SCORE = 0.85
TEXT_SCORE = 0.7


class MemoryEntityStore:
    """An `EntityStore` on a record in memory. Names are handed over normalised."""

    def __init__(self, record: MemoryRecord) -> None:
        self._record = record

    async def find_exact(self, names: Sequence[str], *, access: Access) -> list[NameMatch]:
        """Entities whose normalised name (score 1) or alias (score 0.95) is one of `names`."""
        found = []
        for name in sorted({*names}):
            entities = self._readable(access)
            found += [_match(name, one, "exact", 1.0) for one in entities if one.norm == name]
            found += [
                _match(name, one, "alias", ALIAS_SCORE)
                for one in entities
                if any(
                    alias == name != one.norm and document.open_to(access)
                    for alias, document in one.aliases
                )
            ]
        return found

    async def find_similar(
        self, names: Sequence[str], *, limit: int, access: Access
    ) -> list[NameMatch]:
        """Up to `limit` entities a name that differ from it by at most one typo a word."""
        return [
            _match(name, entity, "typo", TYPO_SCORE)
            for name in names
            for entity in self._first(
                limit,
                access,
                where=lambda one, name=name: similar(name, one.norm),  # type: ignore[misc]
                by=lambda one: (-one.df, one.id),
            )
        ]

    async def find_text(
        self, names: Sequence[str], *, limit: int, access: Access
    ) -> list[NameMatch]:
        """Up to `limit` entities a name whose own name holds all its words, in any order."""
        found = []
        for name in names:
            words = name.split()
            if not words:
                continue
            for entity in self._first(
                limit,
                access,
                where=lambda one, words=words: {*words} <= {*one.norm.split()},  # type: ignore[misc]
                by=lambda one: (len(one.norm.split()), -one.df, one.id),
            ):
                score = TEXT_SCORE * min(1.0, len(words) / len(entity.norm.split()))
                found.append(_match(name, entity, "text", score))
        return found

    async def find_nearest(
        self,
        names: Sequence[str],
        embeddings: Vector,
        *,
        limit: int,
        min_cosine: float,
        access: Access,
    ) -> list[NameMatch]:
        """Up to `limit` entities a name (row of `embeddings`) by cosine of the stored embedding."""
        entities = {one.id: one for one in self._readable(access)}
        return [
            _match(name, entities[hit["id"]], "vector", hit["score"])
            for name, row in zip(names, embeddings, strict=True)
            for hit in best(cosines(self._asked(row), entities.values()), limit)
            if hit["score"] >= min_cosine
        ]

    async def similarity(
        self, ids: Sequence[int], *, embedding: Vector, access: Access
    ) -> list[Hit]:
        """Cosine of each entity's stored embedding with `embedding`, best first."""
        given = [one for one in self._readable(access) if one.id in ids]
        return best(cosines(self._asked(embedding), given), len(given)) if ids else []

    async def mentions_in(self, chunks: Sequence[int], *, access: Access) -> list[ChunkEntity]:
        """The entities each chunk mentions: its subjects first, then by count."""
        rows = [
            ChunkEntity(
                **mention.entity.told(),
                chunk=chunk.id,
                count=mention.count,
                subject=mention.subject,
            )
            for chunk in self._record.view.chunks.values()
            if chunk.id in chunks and chunk.open_to(access)
            for mention in chunk.mentions
        ]
        return sorted(
            rows, key=lambda row: (row["chunk"], not row["subject"], -row["count"], row["id"])
        )

    async def near_chunks(
        self, chunks: Sequence[int], *, limit: int, min_cosine: float, access: Access
    ) -> list[ChunkEntity]:
        """Up to `limit` entities a chunk whose stored embedding is near its own by `min_cosine`."""
        view, readable, found = self._record.view, self._readable(access), list[ChunkEntity]()
        for chunk in view.chunks.values():
            if chunk.id not in chunks or not chunk.open_to(access):
                continue
            beside = [one for one in readable if one.namespace == chunk.document.namespace]
            for hit in best(cosines(chunk.vector, beside), limit):
                if hit["score"] >= min_cosine:
                    entity = view.entities[hit["id"]].told()
                    found.append(ChunkEntity(**entity, chunk=chunk.id, count=0, subject=False))
        return found

    async def stats(self, *, access: Access) -> list[NamespaceStats]:
        """The size of each namespace of `access` that exists."""
        record = self._record
        return [
            NamespaceStats(
                namespace=name,
                version=record.versions[name],
                documents=sum(namespace == name for namespace, _ in record.documents),
                chunks=record.view.counts[name].chunks,
                entities=sum(namespace == name for namespace, _ in record.entities),
                relationships=sum(namespace == name for namespace, *_ in record.relations),
            )
            for name in sorted(record.namespaces.keys() & {*access.namespaces})
        ]

    def _readable(self, access: Access) -> list[EntityRow]:
        """By id."""
        return [one for one in self._record.view.entities.values() if one.open_to(access)]

    def _first(
        self,
        limit: int,
        access: Access,
        *,
        where: Callable[[EntityRow], bool],
        by: Callable[[EntityRow], tuple[int, ...]],
    ) -> list[EntityRow]:
        return sorted(filter(where, self._readable(access)), key=by)[:limit]

    def _asked(self, embedding: Vector) -> Half:
        return question_vector(embedding, self._record.dimension)


def cosines(vector: Half, entities: Collection[EntityRow]) -> dict[int, float]:
    """Of those entities that have a vector."""
    return {one.id: cosine(vector, one.vector) for one in entities if one.vector is not None}


def similar(name: str, known: str) -> bool:
    """Whether two names are as good as equal word by word, in order."""
    words, others = name.split(), known.split()
    return (
        bool(words)
        and len(words) == len(others)
        and all(
            word == other
            or (
                typable(word)
                and typable(other)
                and DamerauLevenshtein.distance(word, other, score_cutoff=1) <= 1
            )
            for word, other in zip(words, others, strict=True)
        )
    )


def typable(word: str) -> bool:
    """Whether a changed letter is a typo; in a shorter word it makes another word."""
    return len(word) in TYPABLE and word.isalpha()


def _match(query: str, entity: EntityRow, via: LinkVia, score: float) -> NameMatch:
    return NameMatch(query=query, entity=entity.told(), via=via, score=score)
