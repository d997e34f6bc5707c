"""What every step of either graph may add."""

from __future__ import annotations

from typing_extensions import TypedDict

__all__ = ["Degradation", "StepTime"]


class Degradation(TypedDict):
    """Something the run went without. `failed`: the whole stage has no result."""

    stage: str
    reason: str
    effect: str
    failed: bool


class StepTime(TypedDict):
    """When one node ran, and what it left of the run's time.

    `begun`: seconds on the clock of the process, comparable within one `invocation`, which is a
    call of the graph: someone who steps through makes several, and the time between them does not
    count. `left_ms`: what optional steps may still take, without what is kept for the context.
    """

    node: str
    ms: float
    begun: float
    invocation: str
    left_ms: float
