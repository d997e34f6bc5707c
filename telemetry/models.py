"""One question to a chat model: a span by the GenAI conventions, tokens, money and time.

Attributes as in OpenTelemetry's semantic conventions for generative AI, inference spans.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opentelemetry.trace import SpanKind

from ..metrics import MODEL_CALLS, MODEL_MONEY, MODEL_SECONDS, MODEL_TOKENS
from .spans import span

__all__ = ["Tell", "model_call"]

Tell = Callable[[int, int, float | None], None]
"""Tokens read, tokens written, and US dollars; none when the price is not known."""


@contextmanager
def model_call(name: str) -> Iterator[Tell]:
    """Around one question to `provider:model`; told what each answer took, usable or not."""
    provider, _, model = name.partition(":")
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
    }
    begun = time.monotonic()
    outcome = "failed"
    try:
        with span(f"chat {model}", attributes, kind=SpanKind.CLIENT) as current:

            def tell(read: int, written: int, money: float | None) -> None:
                current.set_attribute("gen_ai.usage.input_tokens", read)
                current.set_attribute("gen_ai.usage.output_tokens", written)
                MODEL_TOKENS.labels(name, "input").inc(read)
                MODEL_TOKENS.labels(name, "output").inc(written)
                if money is not None:
                    current.set_attribute("clew.money_dollars", money)
                    MODEL_MONEY.labels(name).inc(money)

            yield tell
        outcome = "answered"
    finally:
        MODEL_CALLS.labels(name, outcome).inc()
        MODEL_SECONDS.labels(name).observe(time.monotonic() - begun)
