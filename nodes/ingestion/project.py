"""The copy of the graph hears what changed in the record."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...state import IngestionState, IngestionUpdate
from ...stores.projecting import Outbox, send
from ...stores.protocols import GraphProjection

__all__ = ["project"]


async def project(
    state: IngestionState,  # noqa: ARG001  # every node is handed the state
    runtime: Runtime[RetrievalContext],
    *,
    outbox: Outbox,
    projection: GraphProjection | None,
) -> IngestionUpdate:
    """Send what waits in the outbox, if the graph has a copy; what does not arrive goes on waiting.

    Reads: nothing. Writes: nothing. Raises: StoreUnavailable, StoreTimeout, StoreMisconfigured.
    """
    if projection is not None:
        await send(
            outbox,
            projection,
            lambda sent: runtime.stream_writer({"event": "projected", "rows": sent}),
        )
    return IngestionUpdate()
