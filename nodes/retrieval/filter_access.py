"""PostgreSQL has the last word on every passage, whichever branch brought it."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...ranking.trail import standings
from ...state import Candidate, RankedPassage, RetrievalState, RetrievalUpdate
from ...stores.access import Access
from ...stores.protocols import ChunkStore
from ...stores.records import Passage
from ._question import repeats

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

    Texts that say the same are kept once, the better-ranked one. Those that only repeat a text
    that was given in place of a question are no candidates at all.
    Reads: request, candidates. Writes: ranked, candidates. Raises: StoreUnavailable.
    """
    candidates, most = state["candidates"], max(KEPT, runtime.context.top_k)
    # The best may all be pieces of the text that was given.
    asked = candidates if state["request"]["discover"] else candidates[:most]
    read = await chunks.fetch([candidate["id"] for candidate in asked], access=access)
    repeated = repeats(state)
    known = {passage["id"] for passage in read if repeated(passage["text"])}
    candidates = [candidate for candidate in candidates if candidate["id"] not in known]
    best = {c["id"]: (c, place) for place, c in enumerate(candidates[:most], start=1)}
    seen: set[str] = set()
    ranked = []
    for passage in read:
        if passage["id"] in best and passage["text_hash"] not in seen:
            seen.add(passage["text_hash"])
            ranked.append(_unranked(passage, *best[passage["id"]]))
    return RetrievalUpdate(ranked=ranked, candidates=candidates)


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
