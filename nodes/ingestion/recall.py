"""The next documents of a backfill, as they are stored."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...settings import Settings
from ...state import BackfillState, BackfillUpdate
from ...stores.access import Access
from ...stores.unfinished import UnfinishedDocuments, marked
from ._by_llm import extraction

__all__ = ["recall"]

BATCH_DOCUMENTS = 16
"""What a killed run asks about once more, at most."""


async def recall(
    state: BackfillState,
    runtime: Runtime[RetrievalContext],
    *,
    documents: UnfinishedDocuments,
    settings: Settings,
    access: Access,
) -> BackfillUpdate:
    """Read the next documents back; what was deleted meanwhile is passed over.

    Reads: waiting, total. Writes: batch, waiting. Raises: StoreUnavailable.
    """
    keys, rest = state["waiting"][:BATCH_DOCUMENTS], state["waiting"][BATCH_DOCUMENTS:]
    stored = await documents.drafts(keys, access=access) if keys else []
    total = state["total"]
    runtime.stream_writer(
        {"event": "recalled", "done": total - len(state["waiting"]), "total": total}
    )
    present = extraction(settings)
    return BackfillUpdate(
        batch=[
            {**draft, "content_hash": marked(draft["content_hash"], present)} for draft in stored
        ],
        waiting=rest,
    )
