"""Asking from Python, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ..context import RetrievalContext
from ..graph.retrieval import graph
from ..state import RetrievalOutput
from ..stores.errors import InvalidInput

__all__ = ["discover"]


async def discover(
    passage: str = "",
    *,
    document_id: str = "",
    namespaces: Sequence[str] = (),
    context: RetrievalContext | None = None,
) -> RetrievalOutput:
    """What is connected with a text, without the text itself: passages, map and threads.

    `passage`: at most 50,000 characters, such as a story being written. `document_id`: a stored
    document, by itself or as the one that the passage comes from. Empty `namespaces`: the
    configured default. Raises `InvalidInput`, `UnknownNamespace` and `StoreUnavailable`.
    """
    if not passage.strip() and not document_id:
        raise InvalidInput(
            "There is no text to discover the connections of; give a passage or a document_id."
        )
    asked = {"passage": passage, "document_id": document_id, "namespaces": list(namespaces)}
    return cast("RetrievalOutput", await graph.ainvoke(asked, context=context))
