"""How the entities of the kept passages connect."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.names import normalise
from ...models.spans import name_spans
from ...state import MapEdge, RetrievalState, RetrievalUpdate
from ...stores.access import Access
from ...stores.fallback import FallbackRate
from ...stores.protocols import ChunkStore, EntityStore, GraphStore
from ...stores.records import ChunkEntity, Passage, Relationship
from ._question import repeats

__all__ = ["map_relationships"]

EDGES = 40
ENTITIES = 60
RELATIONS = 400
MIN_ENTITIES = 3
"""A passage with fewer mentions is read again for names the ingestion did not tie to it; when that
does not help, the entities nearest in meaning stand in."""
TEXT_LIMIT = 5
NEAR_LIMIT = 3


async def map_relationships(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    chunks: ChunkStore,
    entities: EntityStore,
    graph: GraphStore,
    passage_fallback: FallbackRate,
    access: Access,
) -> RetrievalUpdate:
    """Collect the relations among the entities of the passages that will be returned.

    Relations between entities of different passages come first: they are the thread. When a text
    was given in place of a question, what it says itself is left out.
    Reads: request, ranked, entities. Writes: relationships. Raises: StoreUnavailable, StoreTimeout.
    """
    kept = [r["passage"] for r in state["ranked"][: runtime.context.top_k]]
    rank = {passage["id"]: place for place, passage in enumerate(kept)}
    found = await entities.mentions_in(list(rank), access=access)
    names = {entity["id"]: entity["name"] for entity in found}
    where: dict[int, set[int]] = defaultdict(set)
    subjects: dict[int, int] = {}
    for entity in found:
        where[entity["id"]].add(entity["chunk"])
        if entity["subject"]:
            subjects[entity["id"]] = min(rank[entity["chunk"]], subjects.get(entity["id"], 10**6))
    held = Counter(entity["chunk"] for entity in found)
    likely = _names([passage for passage in kept if held[passage["id"]] < MIN_ENTITIES], found)
    for match in await entities.find_text(list(likely), limit=TEXT_LIMIT, access=access):
        names.setdefault(match["entity"]["id"], match["entity"]["name"])
        where[match["entity"]["id"]] |= likely[match["query"]]
    poor = _poor(list(rank), where)
    passage_fallback.note(len(rank), len(poor))
    for entity in await entities.near_chunks(
        poor, limit=NEAR_LIMIT, min_cosine=runtime.context.passage_min_cosine, access=access
    ):
        names.setdefault(entity["id"], entity["name"])
        where[entity["id"]].add(entity["chunk"])
    best = sorted(names, key=lambda e: (subjects.get(e, 10**6), -len(where[e]), e))[:ENTITIES]
    relations = await graph.relationships_among(best, limit=RELATIONS, access=access)
    if state["request"]["discover"]:
        relations = await _news(relations, rank, state, chunks, access)
    relations.sort(
        key=lambda r: (
            -((r["source"] in subjects) + (r["target"] in subjects)),
            min(subjects.get(r["source"], 99), subjects.get(r["target"], 99)),
            -r["weight"],
            r["id"],
        )
    )
    edges = [
        MapEdge(
            source=names[r["source"]],
            type=r["type"],
            target=names[r["target"]],
            weight=round(r["weight"], 4),
            evidence=[chunk for chunk in r["evidence"] if chunk in rank],
        )
        for r in relations[:EDGES]
    ]
    return RetrievalUpdate(relationships=edges)


async def _news(
    relations: list[Relationship],
    kept: Container[int],
    state: RetrievalState,
    chunks: ChunkStore,
    access: Access,
) -> list[Relationship]:
    """The relations that something else bears out than the given text and what repeats it.

    What a relation tells of its evidence stands for all of it.
    """
    open_ = {id_ for relation in relations for id_ in relation["evidence"] if id_ not in kept}
    left_out = state["request"]["filters"].get("exclude", [])
    repeated = repeats(state)
    elsewhere = {
        passage["id"]
        for passage in await chunks.fetch(sorted(open_), access=access)
        if passage["document_id"] not in left_out and not repeated(passage["text"])
    }
    return [r for r in relations if any(id_ in kept or id_ in elsewhere for id_ in r["evidence"])]


def _poor(passages: list[int], where: dict[int, set[int]]) -> list[int]:
    """Passages of which too few entities are known."""
    held = Counter(passage for found in where.values() for passage in found)
    return [passage for passage in passages if held[passage] < MIN_ENTITIES]


def _names(passages: list[Passage], found: list[ChunkEntity]) -> dict[str, set[int]]:
    """Normalised names in the passages' texts that no mention accounts for, with the passages."""
    known = {(entity["chunk"], normalise(entity["name"])) for entity in found}
    names: dict[str, set[int]] = defaultdict(set)
    for passage in passages:
        for span in name_spans(passage["text"]):
            if (passage["id"], name := normalise(span.name)) not in known:
                names[name].add(passage["id"])
    return names
