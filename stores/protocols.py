"""What Clew asks of a store.

All of them are async and batch-first, take `access` keyword-only and without default, skip ids they
do not know or may not show, and return totally ordered results: best first, ties by id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .access import Access
from .projected import (
    ProjectedAudience,
    ProjectedDocument,
    ProjectedEntity,
    ProjectedKind,
    ProjectedRelationship,
)
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
    SectionHit,
    WriteReport,
)
from .walk import Walk

__all__ = [
    "ChunkStore",
    "DocumentStore",
    "EntityStore",
    "GraphProjection",
    "GraphStore",
    "SectionStore",
    "Vector",
]

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
        embedding: Vector | None,
        question: str,
        filters: Filters,
        access: Access,
    ) -> list[ChunkScores]:
        """Both search scores of those given chunks that pass the filters, ordered by id.

        Without an `embedding` every cosine is 0.
        """
        ...

    async def fetch(self, ids: Sequence[int], *, access: Access) -> list[Passage]:
        """The readable ones among `ids`, in the order given."""
        ...

    async def of_document(self, key: str, *, access: Access) -> list[Passage]:
        """The readable chunks of the document with that key, by namespace, then by place."""
        ...

    async def neighbours(self, ids: Sequence[int], *, reach: int, access: Access) -> list[Passage]:
        """Chunks at most `reach` places from a given one in its document and section."""
        ...

    async def links(
        self, ids: Sequence[int], *, max_df: int, fanout: int, access: Access
    ) -> list[PassageLink]:
        """Links from the given chunks to others; shared entities only up to `max_df` chunks.

        Of each entity the first `fanout` readable mentions are linked to: those of chunks it is
        the subject of, then by count, then by chunk. What both chunks are about links nothing: it
        would join the pieces of one document to each other. Names that were found alike lead on
        as well, from a chunk that mentions one to the chunks that are about the other, unless it
        mentions that too. Ordered by source, target, entity and kind.
        """
        ...


class EntityStore(Protocol):
    """Names, and the entities they mean."""

    async def find_exact(self, names: Sequence[str], *, access: Access) -> list[NameMatch]:
        """Entities whose normalised name (score 1) or alias (score 0.95) is one of `names`.

        Ordered by name asked, names before aliases, then by id. A name that is an entity's own is
        not told again as its alias.
        """
        ...

    async def find_similar(
        self, names: Sequence[str], *, limit: int, access: Access
    ) -> list[NameMatch]:
        """Up to `limit` entities a name that differ from it by at most one typo a word; score 0.85.

        Word by word, in order: each equal or, when both are 4 to 64 letters, one insertion,
        deletion, substitution or transposition of neighbours apart. The most mentioned first,
        then by id; in the order of `names`.
        """
        ...

    async def find_text(
        self, names: Sequence[str], *, limit: int, access: Access
    ) -> list[NameMatch]:
        """Up to `limit` entities a name whose own name holds all its words, in any order.

        Scored 0.7 × words asked / words of the entity's name, at most 0.7. The shortest names
        first, then the most mentioned, then by id; in the order of `names`.
        """
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

    async def near_chunks(
        self, chunks: Sequence[int], *, limit: int, min_cosine: float, access: Access
    ) -> list[ChunkEntity]:
        """Up to `limit` entities a chunk whose stored embedding is near its own by `min_cosine`.

        Of the chunk's namespace, whether it mentions them or not; `count` is 0. The nearest
        first, in the order of chunk ids; ties by entity id.
        """
        ...

    async def stats(self, *, access: Access) -> list[NamespaceStats]:
        """The size of each namespace of `access` that exists."""
        ...


class SectionStore(Protocol):
    """Two-tier search: sections first, then the chunks inside them."""

    async def search_sections(
        self, embedding: Vector, *, limit: int, filters: Filters, access: Access
    ) -> list[SectionHit]:
        """The `limit` sections nearest by cosine."""
        ...

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
        ...

    async def unsectioned(self, *, access: Access) -> int:
        """Documents in the namespaces that have chunks and no sections, whoever may read them."""
        ...


class GraphStore(Protocol):
    """Relations between entities, and the mentions that tie them to chunks."""

    async def expand(
        self, seeds: Mapping[int, float], *, walk: Walk, access: Access
    ) -> list[ReachedEntity]:
        """The seeds, then the `walk.limit` best entities by path product; each group best first.

        `seeds` maps entity ids to scores in (0, 1]. A seed reached by a path worth more than its
        own score takes that path and score, and one place of the limit. Of equal paths the one of
        fewer hops wins, then the one over the parent of lower id. Raises `InvalidInput`.
        """
        ...

    async def mentions_of(
        self,
        weights: Mapping[int, float],
        *,
        limit: int,
        always: Sequence[int],
        access: Access,
    ) -> list[Mention]:
        """The mentions of the given entities in the `limit` heaviest chunks and in `always`.

        A chunk weighs the sum of the weights, in (0, 1], of the given entities it mentions. A
        store may find the heaviest chunks approximately; weights and mentions are exact.
        Ordered by chunk, then by entity. Raises `InvalidInput`.
        """
        ...

    async def relationships_among(
        self, entities: Sequence[int], *, limit: int, access: Access
    ) -> list[Relationship]:
        """The `limit` heaviest relations with both ends among `entities`.

        Of each relation's readable evidence the first 20 chunks by id are told.
        """
        ...

    async def healthy(self) -> None:
        """Return when the store answers. Raises `StoreUnavailable`, `StoreMisconfigured`."""
        ...


class GraphProjection(Protocol):
    """A copy of the graph that is written from the record: every call may be repeated.

    Audiences are put before the documents that name them, entities before relations and documents;
    what names an unknown end is skipped, since a later call will bring it.
    """

    async def prepare(self) -> None:
        """Create what the copy needs: constraints and indexes."""
        ...

    async def put_audiences(self, rows: Sequence[ProjectedAudience]) -> None:
        """Create or overwrite."""
        ...

    async def put_entities(self, rows: Sequence[ProjectedEntity]) -> None:
        """Create or overwrite."""
        ...

    async def put_relationships(self, rows: Sequence[ProjectedRelationship]) -> None:
        """Create or overwrite."""
        ...

    async def put_documents(self, rows: Sequence[ProjectedDocument]) -> None:
        """Create, or replace all mentions of each."""
        ...

    async def remove(self, kind: ProjectedKind, ids: Sequence[int]) -> None:
        """Take out those that are there; an entity takes its relations and mentions along."""
        ...

    async def read(self, kind: ProjectedKind, *, after: int, limit: int) -> list[dict[str, Any]]:
        """The next rows with ids above `after`, ascending, shaped as they were put."""
        ...


class DocumentStore(Protocol):
    """Where documents are written. `access` must name exactly one namespace."""

    async def hashes(
        self, keys: Sequence[str], *, sectioned: bool = False, access: Access
    ) -> dict[str, str]:
        """Content hashes of those documents that are stored with enrichment complete.

        `sectioned`: only of those that have sections, or nothing to make them of.
        """
        ...

    async def write(self, documents: Sequence[DocumentDraft], *, access: Access) -> WriteReport:
        """Write or replace each document with everything of it in one transaction."""
        ...

    async def delete(self, keys: Sequence[str], *, access: Access) -> int:
        """Delete documents and what only they bore out; returns how many there were."""
        ...

    async def compare_names(self, *, limit: int, access: Access) -> int:
        """Compare the next `limit` names with all of the namespace; returns how many there were.

        Pairs whose stored embeddings have a cosine of at least 0.8 are kept for `links`: of each
        name those with its 20 nearest. An entity is compared once, when all that came before it
        are there; 0 means that none is left.
        """
        ...

    async def weigh(self, *, access: Access) -> int:
        """Weigh the co-occurrences of the namespace anew; returns how many have another weight.

        Writing and deleting weigh the relations of a document by what the namespace holds then.
        Once it holds a fifth more or fewer chunks than when this was last done, all of them are
        weighed by what it holds now; until then nothing is done.
        """
        ...
