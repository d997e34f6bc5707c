"""Passages in PostgreSQL: HNSW over halfvec, and BM25 over postings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, cast

from ..access import Access
from ..checks import storable
from ..protocols import Vector
from ..records import ChunkScores, Filters, Hit, Passage, PassageLink
from . import search_queries as queries
from .database import Database
from .queries import access_params, filter_params, halfvec

__all__ = ["PostgresChunkStore"]

EXACT_BELOW = 20_000
"""Chunks that are compared one by one; an index over more would lose rows to a narrow filter."""
LEADING_TERMS = 12
"""Rarest terms of the question whose postings make candidates."""
POSTING_DEPTH = 12_000
"""Heaviest postings of a term that make candidates, shared among the caller's audiences; a rarer
term's postings are all read."""
FEWEST = 100
"""Hits for which candidates are sought, when fewer are wanted."""
TEXT_CANDIDATES = 4
"""Chunks that are scored over all terms, for each that is wanted."""


class PostgresChunkStore:
    """A `ChunkStore` on one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search_vector(
        self, embedding: Vector, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks nearest by cosine; scores in [-1, 1].

        Exact when the caller and the filters leave at most `EXACT_BELOW` chunks; by the index
        otherwise, which goes on searching until it has found enough of them.
        """
        params = {
            "embedding": halfvec(embedding),
            "limit": limit,
            "most": EXACT_BELOW + 1,
            **filter_params(filters),
            **access_params(access),
        }
        few = await self._count(queries.COUNT_READABLE, params) <= EXACT_BELOW or (
            any(filters.values())
            and await self._count(queries.COUNT_FILTERED, params) <= EXACT_BELOW
        )
        query = queries.SEARCH_VECTOR_EXACT if few else queries.SEARCH_VECTOR
        return cast("list[Hit]", await self._database.fetch(query, params))

    async def search_text(
        self, question: str, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks best by BM25 (k1 = 1.2, b = 0.75); scores above 0.

        Scores are exact; which chunks are scored is not quite, when every term of the question
        stands in more than `POSTING_DEPTH` chunks.
        """
        rows = await self._database.fetch(
            queries.SEARCH_TEXT_FILTERED if any(filters.values()) else queries.SEARCH_TEXT,
            {
                "question": storable(question),
                "limit": limit,
                "leading": LEADING_TERMS,
                "depth": POSTING_DEPTH,
                "candidates": TEXT_CANDIDATES * max(limit, FEWEST),
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

    async def _count(self, query: LiteralString, params: dict[str, Any]) -> int:
        (row,) = await self._database.fetch(query, params)
        count: int = row["chunks"]
        return count
