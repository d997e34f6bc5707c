"""Which edge to take. Routers read the state only, and return the reason, which names the edge."""

from __future__ import annotations

from typing import Literal

from ..state import IngestionState, RetrievalState

__all__ = [
    "after_admit",
    "after_expand",
    "after_link",
    "after_load",
    "after_rerank",
    "after_search",
    "after_write",
    "failed",
]


def failed(state: RetrievalState, node: str) -> bool:
    """Whether this run has lost the whole result of a node."""
    return any(entry["stage"] == node and entry["failed"] for entry in state.get("degraded", []))


def after_admit(state: RetrievalState) -> list[Literal["search", "understand"]]:
    """Search always; the question is read for entities beside it, unless the graph is left out."""
    return ["search", "understand"] if state["plan"]["mode"] == "hybrid" else ["search"]


def after_search(state: RetrievalState) -> Literal["hybrid", "search only"]:
    """Where the search meets the entities, or goes straight to merging."""
    return "hybrid" if state["plan"]["mode"] == "hybrid" else "search only"


def after_link(
    state: RetrievalState,
) -> Literal["linking failed", "already expanded", "seeds", "no seeds yet", "nothing to walk from"]:
    """Walk when there are seeds; else try synonyms once; else go on without the graph."""
    if failed(state, "link_entities"):
        return "linking failed"
    if state["expanded"]:
        return "already expanded"
    if state["seeds"]:
        return "seeds"
    return "no seeds yet" if state["synonyms_wanted"] else "nothing to walk from"


def after_expand(state: RetrievalState) -> Literal["walk failed", "sparse", "enough"]:
    """A sparse neighbourhood earns one attempt with synonyms."""
    if failed(state, "expand_graph"):
        return "walk failed"
    return "sparse" if state["synonyms_wanted"] else "enough"


def after_rerank(state: RetrievalState) -> Literal["entities", "no entities"]:
    """A relationship map needs entities that led to the passages."""
    if state["plan"]["mode"] == "hybrid" and state["ranked"]:
        return "entities"
    return "no entities"


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
