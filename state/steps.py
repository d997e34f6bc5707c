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
    """How long one node took."""

    node: str
    ms: float
