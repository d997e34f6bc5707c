"""Clew: the passages that answer a question, a map of their entities, and the thread to each."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "Access",
    "ClewRetriever",
    "Identity",
    "RetrievalContext",
    "Settings",
    "acting_as",
    "discover",
    "make_retrieve_tool",
    "retrieve_tool",
]

__version__ = "0.1.0"

_HOMES = {
    "Access": ".stores.access",
    "ClewRetriever": ".serving.retriever",
    "Identity": ".stores.access",
    "RetrievalContext": ".context",
    "Settings": ".settings",
    "acting_as": ".stores.access",
    "discover": ".serving.asking",
    "make_retrieve_tool": ".serving.tool",
    "retrieve_tool": ".serving.tool",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `import clew` loads nothing heavy."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home, __name__), name)
