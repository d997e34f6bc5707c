"""What the statements of every store share: who may read, and which documents are meant.

Parameters by name: `namespaces` and `principals` come from `Access`, the filters from `Filters`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from psycopg.types.json import Jsonb

from ..access import Access
from ..protocols import Vector
from ..records import Filters

__all__ = [
    "FILTER",
    "READABLE",
    "READABLE_ENTITY",
    "READABLE_IDS",
    "access_params",
    "filter_params",
    "halfvec",
    "numbers",
]

READABLE: Final = """
    readable as materialized (
        select a.id, a.namespace from audiences a
         where a.namespace = any(%(namespaces)s) and a.principals && %(principals)s
    )
"""
"""The audiences the caller belongs to. An index that leads with a key and an audience is read once
for each of them, the best rows first, however few rows of a key the caller may read."""

READABLE_IDS: Final = """
    (array(select a.id from audiences a
            where a.namespace = any(%(namespaces)s) and a.principals && %(principals)s))
"""
"""The same as an array, evaluated once a statement."""

READABLE_ENTITY: Final = f"""
    e.namespace = any(%(namespaces)s) and exists (
        select from mentions seen where seen.entity_id = e.id and seen.audience = any{READABLE_IDS})
"""
"""An entity `e` that a readable chunk mentions."""

FILTER: Final = """
    (%(category)s::text[] is null or c.category = any(%(category)s))
    and (%(date_from)s::date is null or c.document_date >= %(date_from)s)
    and (%(date_to)s::date is null or c.document_date <= %(date_to)s)
    and (%(metadata)s::jsonb is null or exists (
        select from documents d where d.id = c.document_id and d.metadata @> %(metadata)s))
    and c.document_id <> all(array(
        select d.id from documents d
         where d.namespace = any(%(namespaces)s) and d.key = any(%(exclude)s::text[])))
"""
"""Chunks `c` of the documents meant. What is excluded is looked up once a statement."""


def access_params(access: Access) -> dict[str, Any]:
    """`Access` as query parameters."""
    return {"namespaces": list(access.namespaces), "principals": list(access.principals)}


def filter_params(filters: Filters) -> dict[str, Any]:
    """`Filters` as query parameters; what is not given is null and holds for every row."""
    metadata = filters.get("metadata")
    return {
        "category": filters.get("category") or None,
        "date_from": filters.get("date_from"),
        "date_to": filters.get("date_to"),
        "metadata": Jsonb(metadata) if metadata else None,
        "exclude": filters.get("exclude") or None,
    }


def halfvec(vector: Vector) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def numbers(values: Iterable[float]) -> str:
    """Numbers as an array that PostgreSQL reads, in a tenth of the time that a list takes to send:
    the driver would look for the narrowest type that holds them all.
    """
    return "{" + ",".join(map(str, values)) + "}"
