"""Entities by how near their meaning is to the question's."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.embeddings import Embedder
from ...state import RetrievalState, RetrievalUpdate
from ...stores.access import Access
from ...stores.protocols import EntityStore
from ...stores.records import ReachedEntity
from ._question import question_vector

__all__ = ["rerank_entities"]


async def rerank_entities(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    entities: EntityStore,
    embedder: Embedder,
    access: Access,
) -> RetrievalUpdate:
    """Order by cosine within three groups and cut to the limit: seeds the question named, what
    the walk reached from those, and what only good search hits vouch for. Without a vector of the
    question each group keeps the order of the walk.

    Reads: request, embedded, entities, seeds. Writes: entities.
    Raises: StoreUnavailable, StoreTimeout.
    """
    context = runtime.context
    named = {seed["id"] for seed in state["seeds"] if seed["via"] != "anchor"}
    order: dict[int, int] = {}
    wanted = context.graph_semantic_reranking_enabled
    if wanted and (embedding := await question_vector(state, embedder)) is not None:
        nearness = await entities.similarity(
            [entity["id"] for entity in state["entities"]], embedding=embedding, access=access
        )
        order = {hit["id"]: place for place, hit in enumerate(nearness)}

    def key(entity: ReachedEntity) -> tuple[bool, bool, int, float, int]:
        place = order.get(entity["id"], len(order))
        asked, walked = entity["id"] in named, entity["seed"] in named
        return not asked, not walked, place, -entity["score"], entity["id"]

    kept = sorted(state["entities"], key=key)[: context.graph_entity_limit]
    return RetrievalUpdate(entities=kept)
