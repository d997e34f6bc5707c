"""How a step meets time and failure.

A step has a ceiling of its own and may use what the run has left. An expected failure (nobody
answers, too late, breaker open) becomes an entry in `degraded`, and a visible edge goes round the
step. Anything else is the caller's mistake or a bug, and propagates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..context import RetrievalContext
from ..models.embeddings import ModelUnavailable
from ..state import Degradation, StepTime
from ..stores.errors import StoreUnavailable

__all__ = ["EXPECTED", "RESERVED_MS", "degradation", "elapsed_ms", "seconds_for"]

EXPECTED = (StoreUnavailable, ModelUnavailable, TimeoutError)
"""Failures of the world, not of the program."""

RESERVED_MS = 200
"""Kept back from every optional step, so that a context can still be built."""

SIDE_BY_SIDE = frozenset({"search_passages", "extract_entities"})


def elapsed_ms(steps: Sequence[StepTime]) -> float:
    """Time the steps so far have taken; between steps it stands still, since someone may look."""
    together = [step["ms"] for step in steps if step["node"] in SIDE_BY_SIDE]
    alone = [step["ms"] for step in steps if step["node"] not in SIDE_BY_SIDE]
    return sum(alone) + max(together, default=0.0)


def seconds_for(ceiling: str | None, context: RetrievalContext, steps: Sequence[StepTime]) -> float:
    """Seconds a step may take: its ceiling or what the run has left, whichever is less.

    A step without a ceiling is not optional and is not cut off. Not positive: out of time.
    """
    if ceiling is None:
        return float("inf")
    left = context.budget_ms - RESERVED_MS - elapsed_ms(steps)
    return min(float(getattr(context, ceiling)), left) / 1000


def degradation(node: str, error: BaseException, effect: str) -> Degradation:
    """What to tell the caller about a step that failed as expected."""
    late = isinstance(error, asyncio.TimeoutError)
    reason = "It did not finish within its time." if late else str(error)
    return Degradation(stage=node, reason=reason, effect=effect, failed=True)
