"""Entities by how near their meaning is to the question's."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.embeddings import Embedder
from ...state import RetrievalState, RetrievalUpdate
from ...stores.access import Access
from ...stores.protocols import EntityStore

__all__ = ["rerank_entities"]


async def rerank_entities(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    entities: EntityStore,
    embedder: Embedder,
    access: Access,
) -> RetrievalUpdate:
    """Keep the seeds the question named in front, order the rest by cosine, cut to the limit.

    Reads: entities, seeds. Writes: entities. Raises: StoreUnavailable, StoreTimeout.
    """
    context = runtime.context
    named = {seed["id"] for seed in state["seeds"] if seed["via"] != "anchor"}
    front = [entity for entity in state["entities"] if entity["id"] in named]
    rest = [entity for entity in state["entities"] if entity["id"] not in named]
    if context.graph_semantic_reranking_enabled and rest:
        embedding = await embedder.embed_question(state["request"]["question"])
        nearness = await entities.similarity(
            [entity["id"] for entity in rest], embedding=embedding, access=access
        )
        order = {hit["id"]: place for place, hit in enumerate(nearness)}
        rest.sort(key=lambda entity: (order.get(entity["id"], len(order)), entity["id"]))
    return RetrievalUpdate(entities=[*front, *rest][: context.graph_entity_limit])
