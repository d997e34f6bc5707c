"""What a walk over the graph does, whichever store does it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from .checks import iso_date
from .errors import InvalidInput

__all__ = ["HOP_FACTORS", "MAX_HOPS", "Walk", "check_weights"]

HOP_FACTORS = (1.0, 1.0, 0.6, 0.3)
"""What a path of 0, 1, 2, 3 relations is worth, before its weights.

The ratio of one to the next never increases: a path that is behind stays behind, which is what
lets a store drop it.
"""

MAX_HOPS = len(HOP_FACTORS) - 1


@dataclass(frozen=True, slots=True)
class Walk:
    """How far to walk, how much to bring back, and what each relation is worth.

    A path is worth its seed's score, times weight and type weight of each relation on it, times
    the hop factor of its length. An entity is worth its best path. The walk returns the `limit`
    best entities, exactly; relations are walked in both directions.

    `type_weights`: factor in [0, 1] a relation type; 0 closes it. `default_weight`: that of every
    type not named, so that 0 leaves the named types only. `date_from`, `date_to`: ISO dates,
    inclusive; only relations whose first to last sighting touches the period are walked, which
    undated ones never do.
    """

    hops: int = 1
    limit: int = 200
    type_weights: Mapping[str, float] = field(default_factory=dict)
    default_weight: float = 1.0
    date_from: str | None = None
    date_to: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.hops <= MAX_HOPS:
            raise InvalidInput(f"A walk has 1 to {MAX_HOPS} hops, not {self.hops}.")
        if self.limit < 1:
            raise InvalidInput(f"A walk returns at least 1 entity, not {self.limit}.")
        for name, weight in [*self.type_weights.items(), ("any other type", self.default_weight)]:
            if not 0 <= weight <= 1:
                raise InvalidInput(f"The weight of {name} is {weight}; it must lie in [0, 1].")
        for day in (self.date_from, self.date_to):
            if day is not None:
                iso_date(day)

    def factor(self, relation: str) -> float:
        """What a relation of this type counts."""
        return self.type_weights.get(relation, self.default_weight)

    def open_to(self, first_seen: str | None, last_seen: str | None) -> bool:
        """Whether a relation seen from one ISO date to another may be walked."""
        if self.date_from is None and self.date_to is None:
            return True
        if first_seen is None or last_seen is None:
            return False
        return (self.date_to is None or first_seen <= self.date_to) and (
            self.date_from is None or last_seen >= self.date_from
        )


def check_weights(weights: Mapping[int, float], what: str) -> None:
    """Refuse what is not in (0, 1]: a store's pruning rests on it. Raises `InvalidInput`."""
    for id_, weight in weights.items():
        if not (math.isfinite(weight) and 0 < weight <= 1):
            raise InvalidInput(f"The {what} of entity {id_} is {weight}; it must lie in (0, 1].")
