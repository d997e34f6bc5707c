"""Passages in memory: every chunk is looked at, and each formula is written out."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from ..access import Access
from ..checks import storable
from ..protocols import Vector
from ..records import ChunkScores, Filters, Hit, Passage, PassageLink
from .alike import alike_to
from .filters import Condition
from .record import MemoryRecord
from .vectors import cosine, question_vector
from .view import Chunk, EntityRow, MentionRow, View, terms

__all__ = ["MemoryChunkStore", "best"]

Kind = Literal["titled", "titles", "shared", "alike"]
LinkKey = tuple[int, int, int, Kind]

K1 = 1.2
B = 0.75


class MemoryChunkStore:
    """A `ChunkStore` on a record in memory."""

    def __init__(self, record: MemoryRecord) -> None:
        self._record = record

    async def search_vector(
        self, embedding: Vector, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks nearest by cosine; scores in [-1, 1]."""
        vector = question_vector(embedding, self._record.dimension)
        condition = Condition(filters, access)
        return best(
            {
                chunk.id: cosine(vector, chunk.vector)
                for chunk in self._record.view.chunks.values()
                if condition.holds(chunk.document)
            },
            limit,
        )

    async def search_text(
        self, question: str, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks best by BM25 (k1 = 1.2, b = 0.75); scores above 0."""
        words = terms(storable(question), self._record.stop_words).keys()
        condition = Condition(filters, access)
        view = self._record.view
        scores = {
            chunk.id: bm25(words, chunk, view)
            for chunk in view.chunks.values()
            if condition.holds(chunk.document)
        }
        return best({id_: score for id_, score in scores.items() if score > 0}, limit)

    async def score(
        self,
        ids: Sequence[int],
        *,
        embedding: Vector | None,
        question: str,
        filters: Filters,
        access: Access,
    ) -> list[ChunkScores]:
        """Both search scores of those given chunks that pass the filters, ordered by id.

        Without an `embedding` every cosine is 0.
        """
        if not ids:
            return []
        dimension = self._record.dimension
        vector = None if embedding is None else question_vector(embedding, dimension)
        words = terms(storable(question), self._record.stop_words).keys()
        condition = Condition(filters, access)
        view = self._record.view
        return [
            ChunkScores(
                id=chunk.id,
                dense=0.0 if vector is None else cosine(vector, chunk.vector),
                bm25=bm25(words, chunk, view),
            )
            for chunk in view.chunks.values()
            if chunk.id in ids and condition.holds(chunk.document)
        ]

    async def fetch(self, ids: Sequence[int], *, access: Access) -> list[Passage]:
        """The readable ones among `ids`, in the order given."""
        known = self._readable(access)
        return [passage(known[id_]) for id_ in ids if id_ in known]

    async def of_document(self, key: str, *, access: Access) -> list[Passage]:
        """The readable chunks of the document with that key, by namespace, then by place."""
        found = [
            passage(chunk)
            for chunk in self._readable(access).values()
            if chunk.document.prepared.draft["key"] == storable(key)
        ]
        return sorted(found, key=lambda one: (one["namespace"], one["chunk_index"]))

    async def neighbours(self, ids: Sequence[int], *, reach: int, access: Access) -> list[Passage]:
        """Chunks at most `reach` places from a given one in its document and section, by id."""
        known = self._readable(access)
        given = [known[id_] for id_ in ids if id_ in known]
        return [
            passage(chunk)
            for chunk in known.values()
            if any(
                chunk.document is one.document
                and chunk.draft["header"] == one.draft["header"]
                and abs(chunk.draft["index"] - one.draft["index"]) <= reach
                for one in given
            )
        ]

    async def links(
        self, ids: Sequence[int], *, max_df: int, fanout: int, access: Access
    ) -> list[PassageLink]:
        """Links from the given chunks to others; shared entities only up to `max_df` chunks.

        Of each entity the first `fanout` readable mentions are linked to: those of chunks it is
        the subject of, then by count, then by chunk. What both chunks are about links nothing.
        """
        known = self._readable(access)
        found: dict[LinkKey, PassageLink] = {}
        for id_ in sorted({*ids} & known.keys()):
            for near in known[id_].mentions:
                for far in _far(near.entity, fanout, access):
                    if far.chunk is not near.chunk and (kind := _kind(near, far, max_df)):
                        _add(found, near, far, kind)
                for other in () if near.subject else alike_to(self._record, near.entity, access):
                    if all(mention.entity is not other for mention in known[id_].mentions):
                        for far in _far(other, fanout, access):
                            if far.subject:
                                _add(found, near, far, "alike")
        return [found[key] for key in sorted(found)]

    def _readable(self, access: Access) -> dict[int, Chunk]:
        chunks = self._record.view.chunks
        return {id_: chunk for id_, chunk in chunks.items() if chunk.open_to(access)}


def best(scores: Mapping[int, float], limit: int) -> list[Hit]:
    """The highest scores, ties by id."""
    ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [Hit(id=id_, score=score) for id_, score in ordered[:limit]]


def bm25(words: Collection[str], chunk: Chunk, view: View) -> float:
    """Robertson and Zaragoza (2009), with Lucene's idf, over all chunks of the namespace."""
    counts = view.counts[chunk.document.namespace]
    average = max(counts.terms, 1) / max(counts.chunks, 1)
    length = 1 - B + B * chunk.terms.total() / average
    score = 0.0
    for word in words:
        df, tf = counts.df[word], chunk.terms[word]
        idf = math.log(1 + (counts.chunks - df + 0.5) / (df + 0.5))
        score += idf * tf * (K1 + 1) / (tf + K1 * length)
    return score


def passage(chunk: Chunk) -> Passage:
    """The chunk as stores return it; the caller may do with it what they like."""
    document, draft = chunk.document, chunk.document.prepared.draft
    return Passage(
        id=chunk.id,
        namespace=document.namespace,
        document=document.id,
        document_id=draft["key"],
        title=draft["title"],
        source=draft["source"],
        category=draft["category"],
        date=draft["date"],
        metadata=copy.deepcopy(draft["metadata"]),
        chunk_index=chunk.draft["index"],
        total_chunks=len(draft["chunks"]),
        char_start=chunk.draft["start"],
        header=chunk.draft["header"],
        text=chunk.draft["text"],
        text_hash=hashlib.sha256(chunk.draft["text"].encode()).hexdigest(),
    )


def _kind(near: MentionRow, far: MentionRow, max_df: int) -> Kind | None:
    if near.subject or far.subject:
        if near.subject and far.subject:
            return None
        return "titled" if far.subject else "titles"
    return "shared" if near.entity.df <= max_df else None


def _far(entity: EntityRow, fanout: int, access: Access) -> list[MentionRow]:
    """The entity's first readable mentions: where it is the subject, then by count."""
    readable = [far for far in entity.mentions if far.chunk.open_to(access)]
    return sorted(readable, key=lambda far: (not far.subject, -far.count, far.chunk.id))[:fanout]


def _add(found: dict[LinkKey, PassageLink], near: MentionRow, far: MentionRow, kind: Kind) -> None:
    link = PassageLink(
        source=near.chunk.id,
        target=far.chunk.id,
        entity=far.entity.id,
        name=far.entity.name,
        df=far.entity.df,
        kind=kind,
    )
    found[link["source"], link["target"], link["entity"], kind] = link
