"""What Clew asks of a store.

All of them are async and batch-first, take `access` keyword-only and without default, skip ids they
do not know or may not show, and return totally ordered results: best first, ties by id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .access import Access
from .records import (
    ChunkEntity,
    ChunkScores,
    DocumentDraft,
    Filters,
    Hit,
    Mention,
    NameMatch,
    NamespaceStats,
    Passage,
    PassageLink,
    ReachedEntity,
    Relationship,
    WriteReport,
)

__all__ = ["ChunkStore", "DocumentStore", "EntityStore", "GraphStore", "Vector"]

Vector = NDArray[np.float32]


class ChunkStore(Protocol):
    """Passages, found by meaning and by words."""

    async def search_vector(
        self, embedding: Vector, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks nearest by cosine; scores in [-1, 1]."""
        ...

    async def search_text(
        self, question: str, *, limit: int, filters: Filters, access: Access
    ) -> list[Hit]:
        """The `limit` chunks best by BM25 (k1 = 1.2, b = 0.75); scores above 0."""
        ...

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
        ...

    async def fetch(self, ids: Sequence[int], *, access: Access) -> list[Passage]:
        """The readable ones among `ids`, in the order given."""
        ...

    async def neighbours(self, ids: Sequence[int], *, reach: int, access: Access) -> list[Passage]:
        """Chunks at most `reach` places from a given one in its document and section."""
        ...

    async def links(
        self, ids: Sequence[int], *, max_df: int, fanout: int, access: Access
    ) -> list[PassageLink]:
        """Links from the given chunks to others; shared entities only up to `max_df` chunks."""
        ...


class EntityStore(Protocol):
    """Names, and the entities they mean."""

    async def find_exact(self, names: Sequence[str], *, access: Access) -> list[NameMatch]:
        """Entities whose normalised name or alias equals one of `names`."""
        ...

    async def find_similar(self, names: Sequence[str], *, access: Access) -> list[NameMatch]:
        """Entities whose name is one of `names` but for a typo a word."""
        ...

    async def find_text(
        self, names: Sequence[str], *, limit: int, access: Access
    ) -> list[NameMatch]:
        """Up to `limit` entities a name by full text over their names."""
        ...

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
        ...

    async def similarity(
        self, ids: Sequence[int], *, embedding: Vector, access: Access
    ) -> list[Hit]:
        """Cosine of each entity's stored embedding with `embedding`, best first."""
        ...

    async def mentions_in(self, chunks: Sequence[int], *, access: Access) -> list[ChunkEntity]:
        """The entities each chunk mentions: its subjects first, then by count."""
        ...

    async def stats(self, *, access: Access) -> list[NamespaceStats]:
        """The size of each namespace of `access` that exists."""
        ...


class GraphStore(Protocol):
    """Relations between entities, and the mentions that tie them to chunks."""

    async def expand(
        self,
        seeds: Mapping[int, float],
        *,
        hops: int,
        limit: int,
        fanout: int,
        type_weights: Mapping[str, float],
        access: Access,
    ) -> list[ReachedEntity]:
        """The `limit` entities with the best path product within `hops`, the seeds first.

        `seeds` maps entity ids to scores in (0, 1]. A path's score is its seed's score times, for
        each relation, weight × type weight (1 when not named) and the hop decay.
        """
        ...

    async def mentions_of(
        self, entities: Sequence[int], *, fanout: int, access: Access
    ) -> list[Mention]:
        """Up to `fanout` mentions of each entity: subjects first, then by count."""
        ...

    async def relationships_among(
        self, entities: Sequence[int], *, limit: int, access: Access
    ) -> list[Relationship]:
        """The `limit` heaviest relations with both ends among `entities`."""
        ...


class DocumentStore(Protocol):
    """Where documents are written. `access` must name exactly one namespace."""

    async def hashes(self, keys: Sequence[str], *, access: Access) -> dict[str, str]:
        """Content hashes of those documents that are stored with enrichment complete."""
        ...

    async def write(self, documents: Sequence[DocumentDraft], *, access: Access) -> WriteReport:
        """Write or replace each document with everything of it in one transaction."""
        ...

    async def delete(self, keys: Sequence[str], *, access: Access) -> int:
        """Delete documents and what only they bore out; returns how many there were."""
        ...
