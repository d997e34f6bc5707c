"""Passages by meaning and by words, fused by rank; by words alone when the encoder fails."""

from __future__ import annotations

import asyncio

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.embeddings import Embedder, ModelUnavailable
from ...ranking.fusion import reciprocal_rank
from ...state import Degradation, RetrievalState, RetrievalUpdate, SearchHit
from ...stores.access import Access
from ...stores.protocols import ChunkStore, SectionStore, Vector
from ...stores.records import Filters, Hit

__all__ = ["search_passages"]

ENCODING = 0.5
"""Share of the step's time that the encoder may take; the search needs the rest."""


async def search_passages(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    chunks: ChunkStore,
    sections: SectionStore,
    embedder: Embedder,
    access: Access,
    seconds: float,
) -> RetrievalUpdate:
    """Search by vector, in one tier or two, and by BM25 at once, and fuse the two rankings.

    Reads: request. Writes: hits, best first; without a vector, embedded and degraded.
    Raises: StoreUnavailable, StoreTimeout.
    """
    request, context = state["request"], runtime.context
    limit, filters = context.search_candidates, request["filters"]

    async def by_meaning() -> list[Hit] | Degradation:
        try:
            async with asyncio.timeout(ENCODING * seconds):
                embedding = await embedder.embed_question(request["question"])
        except (ModelUnavailable, TimeoutError) as error:
            return _degraded(error)
        if context.two_tier:
            return await _two_tier(chunks, sections, embedding, context, filters, access)
        return await chunks.search_vector(embedding, limit=limit, filters=filters, access=access)

    dense, bm25 = await asyncio.gather(
        by_meaning(),
        chunks.search_text(request["words"], limit=limit, filters=filters, access=access),
    )
    if isinstance(dense, list):
        return RetrievalUpdate(hits=_fuse(dense, bm25, context.rrf_k))
    hits = _fuse([], bm25, context.rrf_k)
    return RetrievalUpdate(hits=hits, embedded=False, degraded=[dense])


def _degraded(error: ModelUnavailable | TimeoutError) -> Degradation:
    late = isinstance(error, TimeoutError)
    return Degradation(
        stage="search_passages",
        reason="The encoder did not answer within its time." if late else str(error),
        effect="passages are found by their words alone",
        failed=False,
    )


async def _two_tier(
    chunks: ChunkStore,
    sections: SectionStore,
    embedding: Vector,
    context: RetrievalContext,
    filters: Filters,
    access: Access,
) -> list[Hit]:
    """The nearest passages of the nearest sections and of documents that have none."""
    limit = context.search_candidates
    found = await sections.search_sections(
        embedding, limit=context.node_top_k, filters=filters, access=access
    )
    if not found:
        # No section is meant, so every chunk that is meant belongs to a document without any.
        return await chunks.search_vector(embedding, limit=limit, filters=filters, access=access)
    return await sections.search_spans(
        [section["id"] for section in found],
        embedding,
        limit=limit,
        filters=filters,
        access=access,
    )


def _fuse(dense: list[Hit], bm25: list[Hit], k: int) -> list[SearchHit]:
    scores = reciprocal_rank([[hit["id"] for hit in dense], [hit["id"] for hit in bm25]], k)
    by_dense = {hit["id"]: (hit["score"], rank) for rank, hit in enumerate(dense, start=1)}
    by_bm25 = {hit["id"]: (hit["score"], rank) for rank, hit in enumerate(bm25, start=1)}
    nothing = (None, None)
    return [
        SearchHit(
            id=chunk,
            dense=by_dense.get(chunk, nothing)[0],
            dense_rank=by_dense.get(chunk, nothing)[1],
            bm25=by_bm25.get(chunk, nothing)[0],
            bm25_rank=by_bm25.get(chunk, nothing)[1],
            rrf=score,
        )
        for chunk, score in sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    ]
