"""The batch lands: each document whole, in a transaction of its own."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from ...state import IngestionState, IngestionUpdate, Skipped
from ...stores.access import Access
from ...stores.protocols import DocumentStore

__all__ = ["write"]


async def write(
    state: IngestionState, runtime: Runtime[Any], *, documents: DocumentStore, access: Access
) -> IngestionUpdate:
    """Write the batch; documents that the database refuses are skipped, and say why.

    Reads: batch. Writes: batch (emptied), written, replaced, skipped. Raises: StoreUnavailable;
    what landed before stays, and the next run goes on from there.
    """
    report = await documents.write(state["batch"], access=access)
    runtime.stream_writer(
        {"event": "written", "documents": len(report["written"]) + len(report["replaced"])}
    )
    return IngestionUpdate(
        batch=[],
        written=report["written"],
        replaced=report["replaced"],
        skipped=[Skipped(source=key, reason=why) for key, why in report["failed"].items()],
    )
