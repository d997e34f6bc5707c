"""One path of a walk, from its seed on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clew.stores.walk import HOP_FACTORS

__all__ = ["Path"]


@dataclass(frozen=True)
class Path:
    at: int
    product: float
    parent: Path | None = None
    step: tuple[int, str, str, str, float] | None = None

    @property
    def hop(self) -> int:
        return self.parent.hop + 1 if self.parent else 0

    @property
    def score(self) -> float:
        return self.product * HOP_FACTORS[self.hop]

    @property
    def rank(self) -> tuple[Any, ...]:
        """Lower is better. Beyond what is promised: of equal relations the one of lower id, and
        the same all the way back.
        """
        if self.parent is None or self.step is None:
            return (-self.score, 0, 0, 0, ())
        return (-self.score, self.hop, self.parent.at, self.step[0], self.parent.rank)

    @property
    def steps(self) -> list[tuple[str, str, str, float]]:
        before = self.parent.steps if self.parent else []
        return [*before, self.step[1:]] if self.step else before

    @property
    def told(self) -> tuple[int, int, float, int, list[tuple[str, str, str, float]]]:
        root = self
        while root.parent:
            root = root.parent
        return (self.at, self.hop, self.score, root.at, self.steps)
