"""Passages in PostgreSQL: HNSW over halfvec, and BM25 over postings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..access import Access
from ..errors import InvalidInput
from ..protocols import Vector
from ..records import ChunkScores, Filters, Hit, Passage, PassageLink
from . import queries
from .database import Database
from .queries import access_params, filter_params

__all__ = ["PostgresChunkStore", "halfvec"]


class PostgresChunkStore:
    """A `ChunkStore` on one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search_vector(
        self, embedding: Vector, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks nearest by cosine; scores in [-1, 1]."""
        rows = await self._database.fetch(
            queries.SEARCH_VECTOR,
            {
                "embedding": halfvec(embedding),
                "limit": limit,
                **filter_params(filters),
                **access_params(access),
            },
        )
        return cast("list[Hit]", rows)

    async def search_text(
        self, question: str, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks best by BM25 (k1 = 1.2, b = 0.75); scores above 0."""
        rows = await self._database.fetch(
            queries.SEARCH_TEXT,
            {
                "question": storable(question),
                "limit": limit,
                **filter_params(filters),
                **access_params(access),
            },
        )
        return cast("list[Hit]", rows)

    async def score(
        self,
        ids: Sequence[int],
        *,
        embedding: Vector,
        question: str,
        filters: Filters,
        access: Access,
    ) -> list[ChunkScores]:
        """Both search scores of those given chunks that pass the filters, ordered by id."""
        if not ids:
            return []
        rows = await self._database.fetch(
            queries.SCORE_CHUNKS,
            {
                "ids": list(ids),
                "embedding": halfvec(embedding),
                "question": storable(question),
                **filter_params(filters),
                **access_params(access),
            },
        )
        return cast("list[ChunkScores]", rows)

    async def fetch(self, ids: Sequence[int], *, access: Access) -> list[Passage]:
        """The readable ones among `ids`, in the order given."""
        if not ids:
            return []
        rows = await self._database.fetch(
            queries.FETCH_PASSAGES, {"ids": list(ids), **access_params(access)}
        )
        return cast("list[Passage]", rows)

    async def neighbours(self, ids: Sequence[int], *, reach: int, access: Access) -> list[Passage]:
        """The given chunks and those at most `reach` places away in the same section, by id."""
        if not ids:
            return []
        rows = await self._database.fetch(
            queries.NEIGHBOURS, {"ids": list(ids), "reach": reach, **access_params(access)}
        )
        return cast("list[Passage]", rows)

    async def links(
        self, ids: Sequence[int], *, max_df: int, fanout: int, access: Access
    ) -> list[PassageLink]:
        """Links from the given chunks to others; shared entities only up to `max_df` chunks."""
        if not ids:
            return []
        rows = await self._database.fetch(
            queries.LINKS,
            {"ids": list(ids), "max_df": max_df, "fanout": fanout, **access_params(access)},
        )
        return cast("list[PassageLink]", rows)


def halfvec(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def storable(text: str) -> str:
    """Refuse what PostgreSQL's text cannot hold."""
    if "\x00" in text:
        raise InvalidInput("The text contains a null byte; remove it.")
    return text
