"""When the names of two entities mean nearly the same, for all stores alike."""

from __future__ import annotations

from typing import Final

__all__ = ["ALIKE", "FOLLOWED", "NEAREST"]

ALIKE: Final = 0.8
"""Cosine of two names from which on they are alike: "Grand Duchess Olga" and "Olga of Russia"."""
NEAREST: Final = 20
"""Names that one name can be alike to by its own comparison: of numbered names all are."""
FOLLOWED: Final = 5
"""Alike names, the nearest first, through which a mention leads to other passages."""
