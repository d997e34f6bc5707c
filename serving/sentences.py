"""What went wrong, in one sentence for whoever can mend it."""

from __future__ import annotations

from pydantic import ValidationError

from ..models.embeddings import ModelUnavailable
from ..stores.errors import StoreError

__all__ = ["MENDABLE", "in_a_sentence"]

MENDABLE = (StoreError, ModelUnavailable, ValidationError)
"""Anything else is a bug."""


def in_a_sentence(error: StoreError | ModelUnavailable | ValidationError) -> str:
    """What to change, or what does not answer."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    if not first["loc"]:
        return f"{first['msg'].removeprefix('Value error, ')}."
    field = ".".join(str(part) for part in first["loc"])
    if error.title == "Settings":
        field = f"CLEW_{field.upper()}"
    return f"{field}: {first['msg']} (it is {first['input']!r})."
