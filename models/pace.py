"""What a slow model still has time for, by how long it took lately."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

__all__ = ["Pace", "Took"]

SECONDS = 30.0
"""Until a measurement is forgotten and as much is tried again; as long as a breaker stays open."""


class Took(NamedTuple):
    """How long reading so many texts took, and when it ended on the clock."""

    texts: int
    ms: float
    ended: float


class Pace:
    """Turns at a model that reads for one caller at a time, and how long the readings took.

    The times are facts, which each caller compares with its own limit: one that is in a hurry
    slows nobody down. `turn` belongs to one event loop, the rest may be used from any thread.
    """

    def __init__(
        self, *, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.turn = asyncio.Lock()
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._took: dict[int, Took] = {}
        self._begun: float | None = None

    @contextmanager
    def reading(self, count: int) -> Iterator[None]:
        """Around one reading of `count` texts; one that fails says nothing about time."""
        begun = self._clock()
        with self._lock:
            self._begun = begun
        try:
            yield
            ended = self._clock()
            with self._lock:
                self._took[count] = Took(count, 1000 * (ended - begun), ended)
        finally:
            with self._lock:
                self._begun = None

    @property
    def underway_ms(self) -> float:
        """How long the present reading has been going on; 0 when there is none."""
        with self._lock:
            return 0.0 if self._begun is None else 1000 * (self._clock() - self._begun)

    def fitting(self, count: int, ms: float) -> tuple[int, Took | None]:
        """How many of `count` texts to read within `ms`, and what speaks against more.

        All, unless that lately took longer, then half of them, then none. Reading fewer texts in
        too long a time speaks against reading more.
        """
        slow = None
        for size in (count, count // 2):
            slower = self._slower(size, ms)
            if slower is None:
                return size, slow
            slow = slower
        return 0, slow

    def _slower(self, count: int, ms: float) -> Took | None:
        with self._lock:
            late = [t for t in self._took.values() if t.texts <= count and t.ms > ms]
            now = self._clock()
        recent = [t for t in late if now - t.ended < self._seconds]
        return max(recent, key=lambda t: t.ms, default=None)
