"""What the run did, for people and programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from ...models.ledger import total_money
from ...settings import Settings
from ...state import Asked, IngestionState, IngestionUpdate
from ...stores.access import Access
from ...stores.errors import StoreUnavailable
from ...stores.projecting import Outbox
from ...stores.protocols import GraphProjection, SectionStore

__all__ = ["report"]

T = TypeVar("T")

LISTED = 100
"""Sources named one by one; beyond that only their number is told."""


async def report(
    state: IngestionState,
    *,
    settings: Settings,
    sections: SectionStore,
    outbox: Outbox,
    projection: GraphProjection | None,
    access: Access,
) -> IngestionUpdate:
    """Count what landed, what was left out and why, and where the time went.

    When a language model is asked, what that took, and which documents it has yet to read, and why.
    A run that stores sections also tells how many documents of the namespace have none; with a
    copy of the graph, how many changes it has not heard of. Either is None when the database no
    longer says, though everything has landed.

    Reads: written, replaced, unchanged, skipped, encoded, asked, unfinished, degraded, sectioned,
    steps. Writes: report. Raises: nothing.
    """
    spent: dict[str, float] = defaultdict(float)
    for step in state["steps"]:
        spent[step["node"]] += step["ms"]
    told: dict[str, Any] = {
        "namespace": state["target"],
        "written": len(state["written"]),
        "replaced": len(state["replaced"]),
        "unchanged": len(state["unchanged"]),
        "skipped": state["skipped"][:LISTED],
        "skipped_count": len(state["skipped"]),
        "chunks": sum(batch["chunks"] for batch in state["encoded"]),
        "encoder_ms": round(sum(batch["ms"] for batch in state["encoded"]), 1),
        "degraded": _once(state),
        "ms": {node: round(ms, 1) for node, ms in spent.items()},
    }
    if settings.ingest_extraction == "llm":
        told["llm"] = _sum(state["asked"])
        told["unfinished"] = state["unfinished"][:LISTED]
        told["unfinished_count"] = len(state["unfinished"])
    if state.get("sectioned"):
        told["sections"] = sum(batch["sections"] for batch in state["encoded"])
        told["without_sections"] = await _told(sections.unsectioned(access=access))
    if projection is not None:
        lag = await _told(outbox.lag())
        told["pending"] = None if lag is None else lag[0]
    return IngestionUpdate(report=told)


async def _told(answer: Awaitable[T]) -> T | None:
    try:
        return await answer
    except StoreUnavailable:
        return None


def _sum(asked: Sequence[Asked]) -> dict[str, Any]:
    return {
        "calls": len(asked),
        "failed": sum(one["failed"] for one in asked),
        "input_tokens": sum(one["input_tokens"] for one in asked),
        "output_tokens": sum(one["output_tokens"] for one in asked),
        "money": total_money([one["money"] for one in asked]),
    }


def _once(state: IngestionState) -> list[Any]:
    """What the batches went without, each reason once."""
    return [
        entry for at, entry in enumerate(state["degraded"]) if entry not in state["degraded"][:at]
    ][:LISTED]
