"""What was answered before, kept for as long as nothing it was made of has changed.

Nothing is ever invalidated. A key holds the versions of the namespaces it was answered from and who
asked; after a change, or for another caller, it is simply another key, and the old one ages out.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from cachetools import LRUCache

from .access import Access

__all__ = ["Cache", "Scope", "scope_of"]

V = TypeVar("V")

Scope = tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]
"""Namespaces, their versions in the same order, and principals, sorted."""


def scope_of(access: Access, versions: Sequence[int]) -> Scope:
    """What an answer hangs on beside the question.

    `versions` are those of `access.namespaces`, in their order. The namespaces keep it, since it
    may decide between answers; the principals do not.
    """
    return access.namespaces, tuple(versions), tuple(sorted({*access.principals}))


class Cache(Generic[V]):
    """The `size` values used last; 0 keeps none. For one event loop.

    A value is handed out as it is: whoever gets it must not change it.
    """

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.hits = 0
        """How often `get` found something."""
        self.misses = 0
        """How often it did not."""
        self._values: LRUCache[Hashable, V] = LRUCache(size)

    def get(self, key: Hashable) -> V | None:
        """The value put under `key`, or none."""
        value = self._values.get(key)
        if value is None:
            self.misses += 1
        else:
            self.hits += 1
        return value

    def put(self, key: Hashable, value: V) -> None:
        """Keep the value; the one used longest ago gives way when there are too many."""
        if self._values.maxsize:
            self._values[key] = value
