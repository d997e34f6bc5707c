"""Optionally, a cross-encoder reads the question and each of the best passages together."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.reranker import Reranker, reading_key
from ...ranking.trail import CROSS_ENCODER
from ...state import CrossReading, Degradation, RankedPassage, RetrievalState, RetrievalUpdate
from ...state.retrieval import Standing

__all__ = ["rerank_passages"]


async def rerank_passages(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    reranker: Reranker | None,
    seconds: float,
) -> RetrievalUpdate:
    """Order the best passages by the cross-encoder; the rest keep their places behind them.

    While the cross-encoder is slow or busy it reads fewer or none, which `degraded` says.
    Reads: ranked. Writes: ranked, reading, degraded. Raises: ModelUnavailable, CircuitOpen; the
    former order then stands.
    """
    context, ranked = runtime.context, state["ranked"]
    best = ranked[: context.rerank_candidates]
    if reranker is None or not best:
        return RetrievalUpdate()
    texts = [f"{r['passage']['header']}\n{r['passage']['text']}" for r in best]
    # What the step's ceiling would cut off is too slow as well.
    ms = min(context.rerank_ms, context.search_ms)
    question = state["request"]["question"]
    scores, lost = await reranker.read(question, texts, ms=ms, seconds=seconds)
    reading = CrossReading(key=reading_key(question, texts), scores=scores, lost=lost)
    update = RetrievalUpdate(reading=reading)
    if scores:
        update["ranked"] = _ordered(ranked[: len(scores)], scores) + ranked[len(scores) :]
    if lost:
        update["degraded"] = [_degraded(lost, len(scores), len(best))]
    return update


def _ordered(best: list[RankedPassage], scores: list[float]) -> list[RankedPassage]:
    scored = sorted(
        zip(scores, best, strict=True), key=lambda pair: (-pair[0], pair[1]["passage"]["id"])
    )
    return [
        {
            **ranked,
            "stages": {
                **ranked["stages"],
                CROSS_ENCODER: Standing(rank=place, score=round(score, 6)),
            },
            "reranker": score,
        }
        for place, (score, ranked) in enumerate(scored, start=1)
    ]


def _degraded(reason: str, read: int, wanted: int) -> Degradation:
    effect = f"it read only the best {read} of {wanted}" if read else "it was left out"
    return Degradation(stage="rerank_passages", reason=reason, effect=effect, failed=False)
