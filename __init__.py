"""Clew: the passages that answer a question, a map of their entities, and the thread to each."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Access", "Identity", "RetrievalContext", "Settings", "acting_as", "discover"]

__version__ = "0.1.0"

_HOMES = {
    "Access": ".stores.access",
    "Identity": ".stores.access",
    "RetrievalContext": ".context",
    "Settings": ".settings",
    "acting_as": ".stores.access",
    "discover": ".serving.asking",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `import clew` loads nothing heavy."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home, __name__), name)
