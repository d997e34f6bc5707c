"""The arithmetic of fusion: scores made comparable, rankings made scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["minmax", "reciprocal_rank", "zscores"]

Scores = NDArray[np.float64]

POOL = 50
"""Scores that say what is usual for a question: its best ones, not the long tail of zeros."""
LOWEST, HIGHEST = -1.0, 6.0
"""What a hop away answers a question is often unlike it: a signal that says nothing for a passage
may not outvote the ones that do."""


def zscores(values: Sequence[float] | Scores) -> Scores:
    """Each value in standard deviations from the mean of the `POOL` best, clipped to [-1, 6]."""
    scores = np.asarray(values, dtype=np.float64)
    if scores.size == 0:
        return scores
    best = np.sort(scores)[::-1][:POOL]
    spread = float(best.std())
    if spread < 1e-12:
        return np.zeros_like(scores)
    centred: Scores = (scores - best.mean()) / spread
    return np.clip(centred, LOWEST, HIGHEST)


def minmax(values: Scores) -> Scores:
    """Values moved and stretched to [0, 1]; all 1 when they are equal."""
    if values.size == 0:
        return values
    low, high = float(values.min()), float(values.max())
    return np.ones_like(values) if high - low < 1e-12 else (values - low) / (high - low)


def reciprocal_rank(rankings: Sequence[Sequence[int]], k: int) -> dict[int, float]:
    """Reciprocal rank fusion: the sum of 1 / (k + rank) over the rankings, ranks from 1.

    Cormack, Clarke, Buettcher, "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank
    Learning Methods" (SIGIR 2009).
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + rank)
    return scores
