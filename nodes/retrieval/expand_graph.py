"""The walk: from the seeds along relations, bounded, inside what the caller may read."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.chat import ChatModel
from ...state import RetrievalState, RetrievalUpdate
from ...stores.access import Access
from ...stores.protocols import GraphStore
from ...stores.walk import Walk
from ._seeds import at_seed

__all__ = ["expand_graph"]


async def expand_graph(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    graph: GraphStore,
    chat: ChatModel | None,
    access: Access,
) -> RetrievalUpdate:
    """Add the entities within `graph_expansion_hops` of the seeds, best first.

    The walk leaves from what the question named, or, when it named nothing known, from the
    anchors; anchors that it does not come by stay where they are.
    Reads: seeds. Writes: entities (seeds first), expanded, sparse, synonyms_wanted.
    Raises: StoreUnavailable, StoreTimeout.
    """
    context = runtime.context
    anchors = {seed["id"]: seed for seed in state["seeds"] if seed["via"] == "anchor"}
    named = {s["id"]: s["score"] for s in state["seeds"] if s["id"] not in anchors}
    entities = await graph.expand(
        named or {id_: seed["score"] for id_, seed in anchors.items()},
        walk=Walk(
            hops=context.graph_expansion_hops,
            limit=context.graph_entity_limit,
            type_weights=context.relation_weights,
            default_weight=context.default_relation_weight,
            date_from=context.relations_from,
            date_to=context.relations_to,
        ),
        access=access,
    )
    known = {entity["id"] for entity in entities}
    entities += [at_seed(seed) for id_, seed in anchors.items() if id_ not in known]
    # Anchors come with every question that search can answer; they say nothing about how much the
    # graph knows of what was asked.
    asked = [entity for entity in entities if entity["id"] not in anchors]
    sparse = len(asked) < context.graph_min_entities_threshold
    wanted = sparse and chat is not None and context.synonyms == "sparse"
    return RetrievalUpdate(
        entities=entities,
        expanded=True,
        sparse=sparse,
        synonyms_wanted=wanted and not state["synonyms_tried"],
    )
