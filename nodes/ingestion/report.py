"""What the run did, for people and programs."""

from __future__ import annotations

from collections import defaultdict

from ...state import IngestionState, IngestionUpdate

__all__ = ["report"]

LISTED = 100
"""Sources named one by one; beyond that only their number is told."""


async def report(state: IngestionState) -> IngestionUpdate:
    """Count what landed, what was left out and why, and where the time went.

    Reads: written, replaced, unchanged, skipped, encoded, steps. Writes: report.
    """
    spent: dict[str, float] = defaultdict(float)
    for step in state["steps"]:
        spent[step["node"]] += step["ms"]
    return IngestionUpdate(
        report={
            "namespace": state["target"],
            "written": len(state["written"]),
            "replaced": len(state["replaced"]),
            "unchanged": len(state["unchanged"]),
            "skipped": state["skipped"][:LISTED],
            "skipped_count": len(state["skipped"]),
            "chunks": sum(batch["chunks"] for batch in state["encoded"]),
            "encoder_ms": round(sum(batch["ms"] for batch in state["encoded"]), 1),
            "ms": {node: round(ms, 1) for node, ms in spent.items()},
        }
    )
