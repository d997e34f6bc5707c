"""Which edge to take. Routers read the state only, and return the reason, which names the edge."""

from __future__ import annotations

from typing import Literal

from ..state import IngestionState, RetrievalState

__all__ = [
    "OUT_OF_TIME",
    "after_admit",
    "after_expand",
    "after_link",
    "after_load",
    "after_rerank",
    "after_search",
    "after_write",
    "failed",
    "in_time",
    "late",
]

OUT_OF_TIME: Literal["out of time"] = "out of time"
"""The edge that leads round optional steps once the run has no time for them."""


def failed(state: RetrievalState, node: str) -> bool:
    """Whether this run has lost the whole result of a node."""
    return any(entry["stage"] == node and entry["failed"] for entry in state.get("degraded", []))


def late(state: RetrievalState) -> bool:
    """Whether the step before left the run no time for optional ones."""
    return state["steps"][-1]["left_ms"] <= 0


def after_admit(state: RetrievalState) -> list[Literal["search", "understand"]]:
    """Search always; the question is read for entities beside it, unless the graph is left out."""
    return ["search", "understand"] if state["plan"]["mode"] == "hybrid" else ["search"]


def after_search(state: RetrievalState) -> Literal["hybrid", "search only"]:
    """Where the search meets the entities, or goes straight to merging."""
    return "hybrid" if state["plan"]["mode"] == "hybrid" else "search only"


def after_link(
    state: RetrievalState,
) -> Literal[
    "linking failed",
    "out of time",
    "already expanded",
    "seeds",
    "no seeds yet",
    "nothing to walk from",
]:
    """Walk when there are seeds; else try synonyms once; else go on without the graph."""
    if late(state):
        return OUT_OF_TIME
    if state["expanded"]:
        # Synonyms that could not be linked take nothing from what was walked before.
        return "already expanded"
    if failed(state, "link_entities"):
        return "linking failed"
    if state["seeds"]:
        return "seeds"
    return "no seeds yet" if state["synonyms_wanted"] else "nothing to walk from"


def after_expand(
    state: RetrievalState,
) -> Literal["walk failed", "out of time", "sparse", "enough"]:
    """A sparse neighbourhood earns one attempt with synonyms."""
    if failed(state, "expand_graph"):
        return "walk failed"
    if late(state):
        return OUT_OF_TIME
    return "sparse" if state["synonyms_wanted"] else "enough"


def in_time(state: RetrievalState) -> Literal["in time", "out of time"]:
    """On to the next optional step, or round it."""
    return OUT_OF_TIME if late(state) else "in time"


def after_rerank(state: RetrievalState) -> Literal["entities", "no entities", "out of time"]:
    """A relationship map needs entities that led to the passages."""
    if state["plan"]["mode"] != "hybrid" or not state["ranked"]:
        return "no entities"
    return OUT_OF_TIME if late(state) else "entities"


def after_load(
    state: IngestionState,
) -> Literal["documents", "all unchanged", "last batch", "done"]:
    """Go through the batch, skip to the next one, write what is left, or stop."""
    if state["batch"]:
        return "documents"
    if not state["exhausted"]:
        return "all unchanged"
    return "last batch" if state["ready"] else "done"


def after_write(state: IngestionState) -> Literal["more", "done"]:
    """Back to where the embedded batch goes too, unless nothing was left to embed."""
    return "more" if state["batch"] else "done"
