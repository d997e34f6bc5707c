"""PostgreSQL has the last word on every passage, whichever branch brought it."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...state import Candidate, RankedPassage, RetrievalState, RetrievalUpdate
from ...stores.access import Access
from ...stores.protocols import ChunkStore
from ...stores.records import Passage

__all__ = ["filter_access"]

KEPT = 60
"""Passages whose text is read; the final order is made among these and what they link to."""


async def filter_access(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    chunks: ChunkStore,
    access: Access,
) -> RetrievalUpdate:
    """Read the best candidates from the record, which drops what the caller may not see.

    Texts that say the same are kept once, the better-ranked one.
    Reads: candidates. Writes: ranked. Raises: StoreUnavailable.
    """
    best = state["candidates"][: max(KEPT, runtime.context.top_k)]
    read = await chunks.fetch([candidate["id"] for candidate in best], access=access)
    by_id = {candidate["id"]: candidate for candidate in best}
    seen: set[str] = set()
    ranked = []
    for passage in read:
        if passage["text_hash"] not in seen:
            seen.add(passage["text_hash"])
            ranked.append(_unranked(passage, by_id[passage["id"]]))
    return RetrievalUpdate(ranked=ranked)


def _unranked(passage: Passage, candidate: Candidate) -> RankedPassage:
    """A passage that stands where the first stage put it."""
    return RankedPassage(
        passage=passage,
        score=candidate["stage"],
        signals=candidate["signals"],
        contributions={},
        matched=candidate["matched"],
        links=[],
        reranker=None,
    )
