"""Asks every question through the real graph and gathers the measures."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..context import RetrievalContext
from ..graph.retrieval import graph
from ..services import current_services
from .datasets import GoldQuestion
from .measures import ndcg, percentiles, recall

__all__ = ["measure"]

DEPTHS = (2, 5, 10, 20)


async def measure(
    questions: Sequence[GoldQuestion],
    namespace: str,
    context: RetrievalContext,
    progress: Callable[[int], None],
) -> dict[str, Any]:
    """Quality as means over questions in [0, 1], milliseconds a step, and the runs degraded.

    Questions are embedded beforehand, so that times are those of retrieval beside the encoder.
    """
    embedder = (await current_services()).embedder
    quality: dict[str, list[float]] = defaultdict(list)
    ms: dict[str, list[float]] = defaultdict(list)
    degraded = 0
    for done, asked in enumerate(questions, start=1):
        await embedder.embed_question(asked.question)
        begun = time.perf_counter()
        output = await graph.ainvoke(
            {"question": asked.question, "namespaces": [namespace]}, context=context
        )
        ms["whole run"].append((time.perf_counter() - begun) * 1000)
        ranked = list(dict.fromkeys(d.metadata["document_id"] for d in output["documents"]))
        for k in DEPTHS:
            quality[f"recall@{k}"].append(recall(ranked, asked.gold, k))
        quality["all gold@5"].append(float(recall(ranked, asked.gold, 5) == 1.0))
        quality["nDCG@10"].append(ndcg(ranked, asked.gold, 10))
        for node, spent in output["diagnostics"]["ms"].items():
            ms[node].append(spent)
        degraded += bool(output["degraded"])
        progress(done)
    return {
        "questions": len(questions),
        "quality": {name: sum(values) / len(values) for name, values in quality.items()},
        "ms": {name: percentiles(values) for name, values in ms.items()},
        "degraded": degraded,
    }
