"""A circuit breaker: after repeated failures, ask no more for a while, then try once.

closed ──N consecutive failures──▶ open ──after `seconds`──▶ half-open
▲                                 ▲                          │
└───────── trial succeeds ────────┼──────────────────────────┤
└────── trial fails ───────┘
"""

from __future__ import annotations

import time
from collections import Counter
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
    and says nothing about the dependency. `on_change` is told of every new state; it must not
    raise.
    """

    def __init__(
        self,
        name: str,
        *,
        failures: tuple[type[BaseException], ...],
        threshold: int = 3,
        seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[str, BreakerState], None] = lambda _name, _state: None,
    ) -> None:
        if threshold < 1 or seconds <= 0:
            raise ValueError("threshold must be at least 1 and seconds above 0")
        self.name = name
        self.changes: Counter[BreakerState] = Counter()
        """How often each state was entered."""
        self._failures = failures
        self._threshold = threshold
        self._seconds = seconds
        self._clock = clock
        self._on_change = on_change
        self._count = 0
        self._period = 0
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

        A cancelled call gives its permit back and counts as nothing, and so does one that ends
        after the circuit has opened or closed again: it tells of how things were.
        """
        trial, period = self._admit(), self._period
        try:
            yield
        except self._failures:
            if period == self._period:
                self._count += 1
                if trial or self._count >= self._threshold:
                    self._opened = self._clock()
                    self._enter("open")
            raise
        else:
            if period == self._period:
                self._count = 0
                if trial:
                    self._opened = None
                    self._enter("closed")
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
        self._tell("half_open")
        return True

    def _enter(self, state: Literal["open", "closed"]) -> None:
        self._period += 1
        self._tell(state)

    def _tell(self, state: BreakerState) -> None:
        self.changes[state] += 1
        self._on_change(self.name, state)
