"""Stores that tell how long each question to them took, without knowing it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from opentelemetry.trace import SpanKind

from ..metrics import STORE_SECONDS
from .spans import span

__all__ = ["observed"]

S = TypeVar("S")


def observed(store: S, name: str, system: str = "postgresql") -> S:
    """The same store, whose every question is a span and counts in `clew_store_seconds`.

    `system`: as OpenTelemetry calls the database (`db.system.name`).
    """
    return cast("S", _Observed(store, name, system))


class _Observed:
    def __init__(self, store: Any, name: str, system: str) -> None:
        self._store = store
        self._name = name
        self._system = system

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not inspect.iscoroutinefunction(found):
            return found
        asked = self._timed(name, found)
        setattr(self, name, asked)  # looked up once
        return asked

    def _timed(self, query: str, method: Callable[..., Any]) -> Callable[..., Any]:
        seconds = STORE_SECONDS.labels(self._name, query)
        attributes = {"db.system.name": self._system, "db.operation.name": query}

        @wraps(method)
        async def asked(*args: Any, **kwargs: Any) -> Any:
            begun = time.monotonic()
            try:
                with span(f"{self._name}.{query}", attributes, kind=SpanKind.CLIENT):
                    return await method(*args, **kwargs)
            finally:
                seconds.observe(time.monotonic() - begun)

        return asked
