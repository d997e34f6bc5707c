"""Optionally, a cross-encoder reads the question and each of the best passages together."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.reranker import Reranker
from ...state import RankedPassage, RetrievalState, RetrievalUpdate

__all__ = ["rerank_passages"]


async def rerank_passages(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    reranker: Reranker | None,
) -> RetrievalUpdate:
    """Order the best passages by the cross-encoder; the rest keep their places behind them.

    Reads: ranked. Writes: ranked. Raises: ModelUnavailable; the former order then stands.
    """
    count = runtime.context.rerank_candidates
    if reranker is None or count == 0:
        return RetrievalUpdate()
    best, rest = state["ranked"][:count], state["ranked"][count:]
    texts = [f"{r['passage']['header']}\n{r['passage']['text']}" for r in best]
    scores = await reranker.score(state["request"]["question"], texts)
    scored = sorted(
        zip(scores, best, strict=True), key=lambda pair: (-pair[0], pair[1]["passage"]["id"])
    )
    ordered: list[RankedPassage] = [{**ranked, "reranker": score} for score, ranked in scored]
    return RetrievalUpdate(ranked=[*ordered, *rest])
