"""How good a ranking is, and how long it took."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["ndcg", "percentiles", "recall"]


def recall(ranked: Sequence[str], gold: Sequence[str], k: int) -> float:
    """The share of `gold` among the first `k` of `ranked`, in [0, 1]."""
    return len(set(ranked[:k]) & set(gold)) / len(set(gold))


def ndcg(ranked: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Normalised discounted cumulative gain at `k` with binary relevance, in [0, 1].

    Järvelin and Kekäläinen, "Cumulated Gain-Based Evaluation of IR Techniques" (2002).
    """
    wanted = set(gold)
    gain = sum(1 / math.log2(i + 2) for i, item in enumerate(ranked[:k]) if item in wanted)
    ideal = sum(1 / math.log2(i + 2) for i in range(min(k, len(wanted))))
    return gain / ideal


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The 50th, 95th and 99th percentile."""
    p50, p95, p99 = np.percentile(np.asarray(values), [50, 95, 99]).tolist()
    return {"p50": p50, "p95": p95, "p99": p99}
