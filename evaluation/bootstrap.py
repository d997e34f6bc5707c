"""What the difference of two variants is worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel
from scipy import stats

__all__ = ["METHOD", "Difference", "difference"]

RESAMPLES = 9_999
SEED = 20_240_229
CONFIDENCE = 0.95
AT_ONCE = 1_000_000
"""Drawn values held in memory, so that thousands of questions do not fill it."""
METHOD = (
    f"{CONFIDENCE:.0%} paired percentile bootstrap over questions, {RESAMPLES:,} resamples; "
    "* where it excludes 0"
)


class Difference(BaseModel):
    """The mean of `after - before` over questions, and its interval; none with fewer than two."""

    mean: float
    low: float | None = None
    high: float | None = None

    @property
    def counts(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """How `after` differs from `before`, question by question, in the order of both.

    Questions are drawn with replacement, each with both its values (Efron and Tibshirani, "An
    Introduction to the Bootstrap", 1993, chapter 13).
    """
    each = np.asarray(after) - np.asarray(before)
    mean = float(each.mean())
    if len(each) < 2:
        return Difference(mean=mean)
    drawn = stats.bootstrap(
        (each,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=max(1, AT_ONCE // len(each)),
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Difference(mean=mean, low=float(drawn.low), high=float(drawn.high))
