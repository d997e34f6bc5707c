"""What asking a model cost: calls, tokens, milliseconds and money."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

__all__ = ["ModelCall", "total_money"]


class ModelCall(TypedDict):
    """One question to a language model and what came of it, enough to repeat the run without it.

    `key` identifies the prompt, its version and what was filled in. Exactly one of `answer` and
    `error` is there. `money` is in US dollars; none when the model's price is not known.
    """

    prompt: str
    version: int
    key: str
    model: str
    cached: bool
    ms: float
    input_tokens: int
    output_tokens: int
    money: float | None
    answer: dict[str, Any] | None
    error: str | None


def total_money(amounts: Sequence[float | None]) -> float | None:
    """The sum in US dollars; none as soon as one price is not known."""
    known = [amount for amount in amounts if amount is not None]
    return round(sum(known), 6) if len(known) == len(amounts) else None
