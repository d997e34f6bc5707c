"""Two-tier search in memory."""

from __future__ import annotations

from collections.abc import Sequence

from ..access import Access
from ..protocols import Vector
from ..records import Filters, Hit, SectionHit
from .chunks import best
from .filters import Condition
from .record import MemoryRecord
from .vectors import cosine, question_vector

__all__ = ["MemorySectionStore"]


class MemorySectionStore:
    """A `SectionStore` on a record in memory."""

    def __init__(self, record: MemoryRecord) -> None:
        self._record = record

    async def search_sections(
        self, embedding: Vector, *, limit: int, filters: Filters, access: Access
    ) -> list[SectionHit]:
        """The `limit` sections nearest by cosine."""
        vector = question_vector(embedding, self._record.dimension)
        condition = Condition(filters, access)
        sections = self._record.view.sections
        scores = {
            section.id: cosine(vector, section.vector)
            for section in sections.values()
            if condition.holds(section.document)
        }
        return [
            SectionHit(
                id=hit["id"],
                document=sections[hit["id"]].document.id,
                span_start=sections[hit["id"]].draft["span_start"],
                span_end=sections[hit["id"]].draft["span_end"],
                score=hit["score"],
            )
            for hit in best(scores, limit)
        ]

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
        """
        vector = question_vector(embedding, self._record.dimension)
        condition = Condition(filters, access)
        view = self._record.view
        given = [view.sections[id_] for id_ in sections if id_ in view.sections]
        return best(
            {
                chunk.id: cosine(vector, chunk.vector)
                for chunk in view.chunks.values()
                if condition.holds(chunk.document)
                and (
                    not chunk.document.prepared.sections
                    or any(section.holds(chunk) for section in given)
                )
            },
            limit,
        )

    async def unsectioned(self, *, access: Access) -> int:
        """Documents in the namespaces that have chunks and no sections, whoever may read them."""
        return sum(
            document.namespace in access.namespaces and document.lacks_sections
            for document in self._record.documents.values()
        )
