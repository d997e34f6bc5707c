"""Once everything has landed, co-occurrences weigh what they weigh among all of it."""

from __future__ import annotations

from ...state import IngestionState, IngestionUpdate
from ...stores.access import Access
from ...stores.protocols import DocumentStore

__all__ = ["weigh_relationships"]


async def weigh_relationships(
    state: IngestionState,  # noqa: ARG001  # every node is handed the state
    *,
    documents: DocumentStore,
    access: Access,
) -> IngestionUpdate:
    """Weigh co-occurrences anew when the namespace has grown or shrunk by a fifth.

    Reads: nothing. Writes: nothing. Raises: StoreUnavailable, StoreTimeout.
    """
    await documents.weigh(access=access)
    return IngestionUpdate()
