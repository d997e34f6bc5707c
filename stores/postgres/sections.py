"""Two-tier search in PostgreSQL: sections by vector, then the chunks in their spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString, cast

from ..access import Access
from ..protocols import Vector
from ..records import Filters, Hit, SectionHit
from . import section_queries as queries
from .chunks import EXACT_BELOW
from .database import Database
from .queries import access_params, filter_params, halfvec

__all__ = ["PostgresSectionStore"]


class PostgresSectionStore:
    """A `SectionStore` on one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search_sections(
        self, embedding: Vector, *, limit: int, filters: Filters, access: Access
    ) -> list[SectionHit]:
        """The `limit` sections nearest by cosine.

        Exact when the caller and the filters leave at most `EXACT_BELOW` of them, by the index
        otherwise.
        """
        params = _params(embedding, limit, filters, access)
        few = await self._held(queries.COUNT_SECTIONS, params) <= EXACT_BELOW
        query = queries.SEARCH_SECTIONS_EXACT if few else queries.SEARCH_SECTIONS
        return cast("list[SectionHit]", await self._database.fetch(query, params))

    async def search_spans(
        self,
        sections: Sequence[int],
        embedding: Vector,
        *,
        limit: int,
        filters: Filters,
        access: Access,
    ) -> list[Hit]:
        """The `limit` nearest chunks by cosine among those inside the sections, and those of
        documents that have no sections.

        What lies inside the sections is compared one by one; so are the chunks of documents
        without any, up to `EXACT_BELOW`. When there are more, the index finds the nearest.
        """
        params = {"sections": list(sections), **_params(embedding, limit, filters, access)}
        outside = await self._held(queries.COUNT_UNSECTIONED, params)
        if not outside:
            query = queries.SEARCH_SPANS_ALONE
        elif outside <= EXACT_BELOW:
            query = queries.SEARCH_SPANS_EXACT
        else:
            query = queries.SEARCH_SPANS
        return cast("list[Hit]", await self._database.fetch(query, params))

    async def unsectioned(self, *, access: Access) -> int:
        """How many documents of the namespaces have no sections, whoever may read them."""
        return await self._held(queries.UNSECTIONED_DOCUMENTS, access_params(access))

    async def _held(self, query: LiteralString, params: dict[str, Any]) -> int:
        (row,) = await self._database.fetch(query, params)
        held: int = row["held"]
        return held


def _params(embedding: Vector, limit: int, filters: Filters, access: Access) -> dict[str, Any]:
    return {
        "embedding": halfvec(embedding),
        "limit": limit,
        "most": EXACT_BELOW + 1,
        **filter_params(filters),
        **access_params(access),
    }
