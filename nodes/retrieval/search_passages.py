"""Passages by meaning and by words, fused by rank; by one of them when the other is late."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, NamedTuple

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.embeddings import Embedder, ModelUnavailable
from ...ranking.fusion import reciprocal_rank
from ...state import Degradation, RetrievalState, RetrievalUpdate, SearchHit
from ...stores.access import Access
from ...stores.patience import within
from ...stores.protocols import ChunkStore, SectionStore, Vector
from ...stores.records import Filters, Hit

__all__ = ["search_passages"]

ENCODING = 0.5
"""Share of the step's time that the encoder may take; the search needs the rest."""
SEARCHING = 0.9
"""Share of the step's time after which one half of the search no longer waits for the other."""


class _Half(NamedTuple):
    """What one of the two searches found, or why it did not."""

    hits: list[Hit]
    lost: str | None = None
    encoded: bool = True


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

    Reads: request. Writes: hits, best first; degraded, when a half is missing; embedded, when
    there is no vector. Raises: StoreUnavailable, StoreTimeout; TimeoutError when both are late.
    """
    request, context = state["request"], runtime.context
    limit, filters = context.search_candidates, request["filters"]

    async def by_meaning() -> _Half:
        try:
            async with asyncio.timeout(ENCODING * seconds):
                embedding = await embedder.embed_question(request["question"])
        except ModelUnavailable as error:
            return _Half([], str(error), encoded=False)
        except TimeoutError:
            return _Half([], "The encoder did not answer within its time.", encoded=False)
        if context.two_tier:
            return _Half(await _two_tier(chunks, sections, embedding, context, filters, access))
        return _Half(
            await chunks.search_vector(embedding, limit=limit, filters=filters, access=access)
        )

    async def by_words() -> _Half:
        return _Half(
            await chunks.search_text(request["words"], limit=limit, filters=filters, access=access)
        )

    meaning, words = await asyncio.gather(
        _in_time(by_meaning(), "by meaning", SEARCHING * seconds),
        _in_time(by_words(), "by words", SEARCHING * seconds),
    )
    if meaning.lost and words.lost:
        raise TimeoutError
    update = RetrievalUpdate(hits=_fuse(meaning.hits, words.hits, context.rrf_k))
    if not meaning.encoded:
        update["embedded"] = False
    if reason := meaning.lost or words.lost:
        found = "words" if meaning.lost else "meaning"
        update["degraded"] = [
            Degradation(
                stage="search_passages",
                reason=reason,
                effect=f"passages are found by their {found} alone",
                failed=False,
            )
        ]
    return update


async def _in_time(work: Coroutine[Any, Any, _Half], which: str, seconds: float) -> _Half:
    try:
        return await within(seconds, work)
    except TimeoutError:
        return _Half([], f"The search {which} did not end within its time.")


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
