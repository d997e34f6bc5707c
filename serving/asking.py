"""Asking from Python, in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.callbacks import Callbacks

from ..context import RetrievalContext
from ..graph.retrieval import graph
from ..state import RetrievalOutput
from ..stores.errors import InvalidInput

__all__ = ["discover", "retrieve"]

# Inside another graph, an agent's for one, LangGraph would write each step to that graph's
# checkpointer, whose threads are no place for a run's whole state.
_unsaved = graph.copy({"checkpointer": False})


async def retrieve(
    asked: Mapping[str, Any],
    context: RetrievalContext | None = None,
    *,
    callbacks: Callbacks = None,
) -> RetrievalOutput:
    """One run of the retrieval graph on a `RetrievalInput`, also from inside another graph.

    Raises `InvalidInput`, `UnknownNamespace`, `StoreUnavailable`, `StoreMisconfigured` and
    `ModelUnavailable`.
    """
    # Without a context of its own the run would be given that of the graph around it.
    own = context or RetrievalContext()
    config = {"callbacks": callbacks} if callbacks is not None else None
    output = await _unsaved.ainvoke(dict(asked), config=config, context=own)  # type: ignore[arg-type]
    return cast("RetrievalOutput", output)


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
    return await retrieve(asked, context)
