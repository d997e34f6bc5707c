"""How a step meets time and failure.

A step has a ceiling of its own and may use what the run has left. An expected failure (nobody
answers, too late, breaker open) becomes an entry in `degraded`, and a visible edge goes round the
step. Anything else is the caller's mistake or a bug, and propagates.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from ..context import RetrievalContext
from ..models.embeddings import ModelUnavailable
from ..state import Degradation, StepTime
from ..stores.errors import StoreUnavailable

__all__ = [
    "EXPECTED",
    "RESERVED_MS",
    "OutOfTime",
    "degradation",
    "elapsed_ms",
    "left_ms",
    "out_of_time",
]


class OutOfTime(Exception):
    """The run's own time was over, which says nothing about whoever was being asked."""


EXPECTED = (StoreUnavailable, ModelUnavailable, TimeoutError, OutOfTime)
"""Failures of the world, not of the program."""

RESERVED_MS = 200
"""Kept back from every optional step, at most a fifth, so that a context can still be built."""


def elapsed_ms(steps: Sequence[StepTime], invocation: str, now: float) -> float:
    """Time the run has taken so far, at `now` on the clock of the process.

    Of each invocation from its first step to its last, and of the present one to now: while
    someone who steps through looks at the state, the clock stands still.
    """
    begun: dict[str, float] = {}
    ended: dict[str, float] = defaultdict(float)
    for step in steps:
        whose = step["invocation"]
        begun[whose] = min(begun.get(whose, step["begun"]), step["begun"])
        ended[whose] = max(ended[whose], step["begun"] + step["ms"] / 1000)
    if invocation in begun:
        ended[invocation] = max(ended[invocation], now)
    return 1000 * sum(ended[whose] - begun[whose] for whose in begun)


def left_ms(context: RetrievalContext, elapsed: float, *, optional: bool) -> float:
    """What a step may still take of the run's time; not positive: out of time."""
    reserved = min(RESERVED_MS, context.budget_ms / 5) if optional else 0
    return context.budget_ms - reserved - elapsed


def degradation(node: str, error: BaseException, effect: str) -> Degradation:
    """What to tell the caller about a step that failed as expected."""
    late = isinstance(error, asyncio.TimeoutError)
    reason = "It did not finish within its time." if late else str(error)
    return Degradation(stage=node, reason=reason, effect=effect, failed=True)


def out_of_time(node: str, context: RetrievalContext) -> Degradation:
    """What to tell the caller when the edges go round all optional steps after a node."""
    return Degradation(
        stage=node,
        reason=f"The run's {context.budget_ms:,} ms were all but over after this step.",
        effect="the optional steps after it were left out",
        failed=False,
    )
