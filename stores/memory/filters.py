"""Conditions on documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..access import Access
from ..checks import iso_date, storable
from ..records import Filters
from .record import StoredDocument

__all__ = ["Condition"]


class Condition:
    """`Filters` and `Access` together, checked. Raises `InvalidInput`."""

    def __init__(self, filters: Filters, access: Access) -> None:
        self._access = access
        # An empty list of categories is no condition, as with metadata.
        self._categories = [storable(category) for category in filters.get("category", [])]
        self._from = iso_date(filters["date_from"]) if filters.get("date_from") else None
        self._to = iso_date(filters["date_to"]) if filters.get("date_to") else None
        self._metadata = filters.get("metadata") or {}
        self._excluded = {storable(key) for key in filters.get("exclude", [])}

    def holds(self, document: StoredDocument) -> bool:
        """Whether the document may be read and is one of those asked for."""
        draft = document.prepared.draft
        day = draft["date"]
        return (
            document.open_to(self._access)
            and draft["key"] not in self._excluded
            and (not self._categories or draft["category"] in self._categories)
            and (self._from is None or (day is not None and day >= self._from))
            and (self._to is None or (day is not None and day <= self._to))
            and contains(draft["metadata"], self._metadata)
        )


def contains(whole: Any, part: Any) -> bool:
    """Containment as of PostgreSQL's `jsonb @>`, below the top level."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            key in whole and contains(whole[key], value) for key, value in part.items()
        )
    if isinstance(part, list | tuple):
        return isinstance(whole, list) and all(
            any(contains(known, wanted) for known in whole) for wanted in part
        )
    # In Python, unlike in JSON, True equals 1.
    return isinstance(whole, bool) == isinstance(part, bool) and bool(whole == part)
