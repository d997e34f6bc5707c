"""A circuit breaker: after repeated failures, ask no more for a while, then try once.

closed ──N consecutive failures──▶ open ──after `seconds`──▶ half-open
▲                                 ▲                          │
└───────── trial succeeds ────────┼──────────────────────────┤
└────── trial fails ───────┘
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

from .errors import StoreUnavailable

__all__ = ["Breaker", "BreakerState", "CircuitOpen"]

BreakerState = Literal["closed", "open", "half_open"]


class CircuitOpen(StoreUnavailable):
    """The breaker lets nobody through at the moment; nothing was asked."""


class Breaker:
    """Guards one dependency, for all callers of one event loop.

    Only the exception types in `failures` count; anything else is the caller's mistake or a bug
    and says nothing about the dependency.
    """

    def __init__(
        self,
        name: str,
        *,
        failures: tuple[type[BaseException], ...],
        threshold: int = 3,
        seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if threshold < 1 or seconds <= 0:
            raise ValueError("threshold must be at least 1 and seconds above 0")
        self.name = name
        self._failures = failures
        self._threshold = threshold
        self._seconds = seconds
        self._clock = clock
        self._count = 0
        self._opened: float | None = None
        self._trial = False

    @property
    def state(self) -> BreakerState:
        """Look without asking for a permit."""
        if self._opened is None:
            return "closed"
        if self._trial or self._clock() - self._opened >= self._seconds:
            return "half_open"
        return "open"

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Let one call through and note how it ends. Raises `CircuitOpen`.

        A cancelled call gives its permit back and counts as nothing.
        """
        trial = self._admit()
        try:
            yield
        except self._failures:
            self._count += 1
            if trial or self._count >= self._threshold:
                self._opened = self._clock()
            raise
        else:
            self._count = 0
            self._opened = None
        finally:
            if trial:
                self._trial = False

    def _admit(self) -> bool:
        state = self.state
        if state == "closed":
            return False
        if state == "open" or self._trial:
            raise CircuitOpen(f"The circuit of the {self.name} is open after repeated failures.")
        self._trial = True
        return True
