"""Once everything has landed, names that mean nearly the same are found, each pair once."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...state import IngestionState, IngestionUpdate
from ...stores.access import Access
from ...stores.protocols import DocumentStore

__all__ = ["compare_names"]

BATCH = 500


async def compare_names(
    state: IngestionState,  # noqa: ARG001  # every node is handed the state
    runtime: Runtime[RetrievalContext],
    *,
    documents: DocumentStore,
    access: Access,
) -> IngestionUpdate:
    """Compare the names that are new in the namespace with all of it.

    A passage that mentions "Grand Duchess Olga" then leads to the one about Olga of Russia, which
    no spelling would. A run that is stopped goes on here the next time.

    Reads: nothing. Writes: nothing. Raises: StoreUnavailable, StoreTimeout.
    """
    done = 0
    while compared := await documents.compare_names(limit=BATCH, access=access):
        done += compared
        runtime.stream_writer({"event": "compared", "names": done})
    return IngestionUpdate()
