"""PostgreSQL has the last word on every passage, whichever branch brought it."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...ranking.trail import standings
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
    places = {candidate["id"]: place for place, candidate in enumerate(best, start=1)}
    seen: set[str] = set()
    ranked = []
    for passage in read:
        if passage["text_hash"] not in seen:
            seen.add(passage["text_hash"])
            place = places[passage["id"]]
            ranked.append(_unranked(passage, best[place - 1], place))
    return RetrievalUpdate(ranked=ranked)


def _unranked(passage: Passage, candidate: Candidate, place: int) -> RankedPassage:
    """A passage that stands where the first stage put it."""
    return RankedPassage(
        passage=passage,
        score=candidate["stage"],
        signals=candidate["signals"],
        stages=standings(candidate, place),
        strategy=None,
        scaled={},
        weights={},
        contributions={},
        matched=candidate["matched"],
        links=[],
        reranker=None,
    )
