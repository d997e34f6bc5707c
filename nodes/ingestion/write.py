"""The batch before lands while the next is embedded: each document whole, in its transaction."""

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
    """Write what is ready; documents that the database refuses are skipped, and say why.

    Reads: ready. Writes: written, replaced, skipped. Raises: StoreUnavailable;
    what landed before stays, and the next run goes on from there.
    """
    report = await documents.write(state["ready"], access=access)
    runtime.stream_writer(
        {"event": "written", "documents": len(report["written"]) + len(report["replaced"])}
    )
    return IngestionUpdate(
        written=report["written"],
        replaced=report["replaced"],
        skipped=[Skipped(source=key, reason=why) for key, why in report["failed"].items()],
    )
