"""Both branches become one list of candidates with every signal of each."""

from __future__ import annotations

from ...models.embeddings import Embedder
from ...ranking.strategies import first_stage
from ...state import Candidate, EntityPassage, RetrievalState, RetrievalUpdate, SearchHit, Signals
from ...stores.access import Access
from ...stores.errors import StoreUnavailable
from ...stores.protocols import ChunkStore
from ...stores.records import ChunkScores
from ._question import question_vector

__all__ = ["merge_results"]


async def merge_results(
    state: RetrievalState,
    *,
    chunks: ChunkStore,
    embedder: Embedder,
    access: Access,
) -> RetrievalUpdate:
    """Join what search and graph found, complete each other's scores, and rank a first time.

    Reads: request, embedded, hits, entity_passages, degraded. Writes: candidates, best first;
    those the record does not know or may not show are gone.
    Raises: StoreUnavailable when every source failed.
    """
    _require_a_source(state)
    hits = {hit["id"]: hit for hit in state["hits"]}
    through = {passage["id"]: passage for passage in state["entity_passages"]}
    places = {p["id"]: rank for rank, p in enumerate(state["entity_passages"], start=1)}
    scores = await chunks.score(
        sorted(hits.keys() | through.keys()),
        embedding=await question_vector(state, embedder),
        question=state["request"]["words"],
        filters=state["request"]["filters"],
        access=access,
    )
    signals = [
        _signals(score, hits.get(score["id"]), through.get(score["id"]), places.get(score["id"]))
        for score in scores
    ]
    stages = first_stage(signals)
    candidates = [
        Candidate(
            id=score["id"],
            signals=signal,
            matched=through[score["id"]]["matched"] if score["id"] in through else [],
            stage=float(stage),
        )
        for score, signal, stage in zip(scores, signals, stages, strict=True)
    ]
    candidates.sort(key=lambda c: (-c["stage"], c["id"]))
    return RetrievalUpdate(candidates=candidates)


def _require_a_source(state: RetrievalState) -> None:
    lost = {entry["stage"]: entry["reason"] for entry in state["degraded"] if entry["failed"]}
    if "search_passages" in lost and not state["entity_passages"]:
        raise StoreUnavailable(
            "Neither the search nor the graph could be asked, so there is nothing to answer from: "
            + lost["search_passages"]
        )


def _signals(
    score: ChunkScores, hit: SearchHit | None, through: EntityPassage | None, place: int | None
) -> Signals:
    return Signals(
        dense=score["dense"],
        bm25=score["bm25"],
        graph=through["score"] if through else 0.0,
        title=float(through["about"]) if through else 0.0,
        titled=0.0,
        link=0.0,
        walk=through["walk"] if through else 0.0,
        named=bool(through and through["named"]),
        dense_rank=hit["dense_rank"] if hit else None,
        bm25_rank=hit["bm25_rank"] if hit else None,
        graph_rank=place,
    )
