"""From entities to the passages that mention them, ranked on the neighbourhood of the question."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...ranking.pagerank import passage_rank, walked
from ...state import EntityPassage, RetrievalState, RetrievalUpdate
from ...stores.access import Access
from ...stores.protocols import GraphStore
from ...stores.records import LinkedEntity, Mention, ReachedEntity

__all__ = ["retrieve_entity_chunks"]

PASSAGE_SEED_MASS = 0.05
"""Of the restart mass that goes to the best search hits; entities share 1."""


async def retrieve_entity_chunks(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    graph: GraphStore,
    access: Access,
) -> RetrievalUpdate:
    """Fetch the mentions of the entities and score the passages they stand in.

    Reads: entities, seeds, hits, traversal. Writes: entity_passages, best first.
    Raises: StoreUnavailable, StoreTimeout.
    """
    context = runtime.context
    entities = {entity["id"]: entity for entity in state["entities"]}
    named = [seed for seed in state["seeds"] if seed["via"] != "anchor"]
    passage_seeds = {hit["id"]: hit["rrf"] for hit in state["hits"][: context.anchor_passages]}
    mentions = await graph.mentions_of(
        {id_: 1 / max(entity["df"], 1) for id_, entity in entities.items()},
        limit=state["traversal"]["passages"],
        always=list(passage_seeds),
        access=access,
    )
    scores = await asyncio.to_thread(
        _score, context.entity_order, mentions, entities, named, passage_seeds
    )
    passages = _passages(mentions, entities, {seed["id"] for seed in named}, scores)
    return RetrievalUpdate(entity_passages=passages)


def _score(
    order: str,
    mentions: list[Mention],
    entities: dict[int, ReachedEntity],
    named: list[LinkedEntity],
    passage_seeds: dict[int, float],
) -> dict[int, float]:
    """A score for each passage, by PageRank, by the rarity of its entities, or by their number."""
    if order == "fused":
        return _pagerank(mentions, entities, named, passage_seeds)
    scores: dict[int, float] = defaultdict(float)
    for mention in mentions:
        df = max(entities[mention["entity"]]["df"], 1)
        scores[mention["chunk"]] += 1.0 if order == "count" else 1.0 / math.log2(1 + df)
    return scores


def _pagerank(
    mentions: list[Mention],
    entities: dict[int, ReachedEntity],
    named: list[LinkedEntity],
    passage_seeds: dict[int, float],
) -> dict[int, float]:
    seeds = _unit({seed["id"]: seed["score"] / max(seed["df"], 1) for seed in named})
    starts = {chunk: mass * PASSAGE_SEED_MASS for chunk, mass in _unit(passage_seeds).items()}
    return passage_rank(
        [(mention["entity"], mention["chunk"]) for mention in mentions],
        walked(entities),
        entity_degree={id_: float(entity["df"]) for id_, entity in entities.items()},
        passage_degree={m["chunk"]: float(m["chunk_entities"]) for m in mentions},
        entity_seeds=seeds,
        passage_seeds=starts,
    )


def _unit(masses: dict[int, float]) -> dict[int, float]:
    total = sum(masses.values())
    return {key: mass / total for key, mass in masses.items()} if total else {}


def _passages(
    mentions: list[Mention],
    entities: dict[int, ReachedEntity],
    named: set[int],
    scores: dict[int, float],
) -> list[EntityPassage]:
    by_chunk: dict[int, list[Mention]] = defaultdict(list)
    for mention in mentions:
        by_chunk[mention["chunk"]].append(mention)
    passages = []
    for chunk, found in by_chunk.items():
        found.sort(key=lambda m: (-entities[m["entity"]]["score"], m["entity"]))
        subjects = {m["entity"] for m in found if m["subject"]}
        passages.append(
            EntityPassage(
                id=chunk,
                score=scores.get(chunk, 0.0),
                matched=[m["entity"] for m in found],
                entity_count=len(found),
                walk=entities[found[0]["entity"]]["score"],
                named=any(m["entity"] in named for m in found),
                about=bool(subjects & named),
                counts=[m["count"] for m in found],
                subjects=sorted(subjects),
            )
        )
    return sorted(passages, key=lambda p: (-p["score"], p["id"]))
