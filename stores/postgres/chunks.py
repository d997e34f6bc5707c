"""Passages in PostgreSQL: HNSW over halfvec, and BM25 over postings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..access import Access
from ..alike import FOLLOWED
from ..checks import storable
from ..protocols import Vector
from ..records import ChunkScores, Filters, Hit, Passage, PassageLink
from . import search_queries as queries
from .database import Database
from .queries import access_params, filter_params, halfvec, numbers

__all__ = ["PostgresChunkStore"]

EXACT_BELOW = 20_000
"""Chunks that are compared one by one; an index over more would lose rows to a narrow filter."""
FEW = 2_000
"""Chunks that are compared one by one even when nothing else is stored."""
NARROW = 0.25
"""Share of all chunks below which the index would visit mostly what the caller may not read."""
LEADING_TERMS = 12
"""Rarest terms of the question whose postings make candidates."""
POSTING_DEPTH = 12_000
"""Heaviest postings of a term that make candidates, shared among the caller's audiences; a rarer
term's postings are all read."""
FEWEST = 100
"""Hits for which candidates are sought, when fewer are wanted."""
TEXT_CANDIDATES = 3
"""Chunks that are scored over all terms, for each that is wanted."""


class PostgresChunkStore:
    """A `ChunkStore` on one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search_vector(
        self, embedding: Vector, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks nearest by cosine; scores in [-1, 1].

        Exact when the caller and the filters leave few chunks, or few of many; by the index
        otherwise, which goes on searching until it has found enough of them.
        """
        params = {
            "embedding": halfvec(embedding),
            "limit": limit,
            "most": EXACT_BELOW + 1,
            **filter_params(filters),
            **access_params(access),
        }
        filtered = any(filters.values())
        # Leaving some out leaves most in: only what must hold can make them few.
        narrowed = any(value for name, value in filters.items() if name != "exclude")
        exact = await self._few(params) or (narrowed and await self._few_match(params))
        by_index = queries.search_vector(limit, filtered=filtered)
        query = queries.SEARCH_VECTOR_EXACT if exact else by_index
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
        rows = await self._database.fetch(
            queries.SCORE_CHUNKS,
            {
                "ids": numbers(ids),
                "embedding": None if embedding is None else halfvec(embedding),
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
            queries.FETCH_PASSAGES, {"ids": numbers(ids), **access_params(access)}
        )
        return cast("list[Passage]", rows)

    async def of_document(self, key: str, *, access: Access) -> list[Passage]:
        """The readable chunks of the document with that key, by namespace, then by place."""
        rows = await self._database.fetch(
            queries.DOCUMENT_PASSAGES, {"key": key, **access_params(access)}
        )
        return cast("list[Passage]", rows)

    async def neighbours(self, ids: Sequence[int], *, reach: int, access: Access) -> list[Passage]:
        """The given chunks and those at most `reach` places away in the same section, by id."""
        if not ids:
            return []
        rows = await self._database.fetch(
            queries.NEIGHBOURS, {"ids": numbers(ids), "reach": reach, **access_params(access)}
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
            {
                "ids": numbers(ids),
                "max_df": max_df,
                "fanout": fanout,
                "followed": FOLLOWED,
                **access_params(access),
            },
        )
        return cast("list[PassageLink]", rows)

    async def _few(self, params: dict[str, Any]) -> bool:
        """Whether so little may be read, or so little of what is stored, that looking at each is
        the surer way, and as fast.
        """
        (row,) = await self._database.fetch(queries.COUNT_READABLE, params)
        readable: int = row["chunks"]
        stored: float = max(row["stored"], readable)
        return readable <= FEW or (readable <= EXACT_BELOW and readable < NARROW * stored)

    async def _few_match(self, params: dict[str, Any]) -> bool:
        (row,) = await self._database.fetch(queries.COUNT_FILTERED, params)
        found: int = row["chunks"]
        return found <= EXACT_BELOW
