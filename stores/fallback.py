"""How often the cheap way to find an entity was not enough."""

from __future__ import annotations

import logging
from collections import deque

__all__ = ["FallbackRate"]

_log = logging.getLogger("clew")

WINDOW = 500
"""Latest attempts that count."""
FEWEST = 50
"""Attempts before anything is said."""
TOO_OFTEN = 0.7


class FallbackRate:
    """The share of attempts that fell back, over the latest `WINDOW`; warns above 70%."""

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self._remedy = remedy
        self._attempts: deque[bool] = deque(maxlen=WINDOW)
        self._warned = False

    @property
    def rate(self) -> float:
        """In [0, 1]; 0 while nothing was attempted."""
        return sum(self._attempts) / len(self._attempts) if self._attempts else 0.0

    def note(self, attempts: int, fell_back: int) -> None:
        """Count attempts, and say once when too many of them fell back."""
        self._attempts.extend([True] * fell_back + [False] * (attempts - fell_back))
        too_often = len(self._attempts) >= FEWEST and self.rate > TOO_OFTEN
        if too_often and not self._warned:
            _log.warning(
                "%s fell back to embeddings in %.0f%% of the last %d cases; %s",
                self.what,
                100 * self.rate,
                len(self._attempts),
                self._remedy,
            )
        self._warned = too_often
