"""Good passages vouch for what they link to; then all signals are fused for good."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.embeddings import Embedder
from ...ranking.links import link_signals, link_strength
from ...ranking.strategies import STRATEGIES, shares, total
from ...ranking.trail import FUSED, standings
from ...state import (
    Candidate,
    LinkTrail,
    RankedPassage,
    RetrievalState,
    RetrievalUpdate,
    Signals,
    Standing,
)
from ...stores.access import Access
from ...stores.protocols import ChunkStore
from ...stores.records import ChunkScores, PassageLink
from ._question import question_vector, repeats

__all__ = ["link_passages"]

FANOUT = 50
"""Passages followed from one entity, subjects first."""
NEWCOMERS = 50
KEPT = 40
TRAILS = 3


async def link_passages(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    chunks: ChunkStore,
    embedder: Embedder,
    access: Access,
) -> RetrievalUpdate:
    """Follow links from the best passages, and score everything by the chosen strategy.

    What links lead to may repeat a text that was given in place of a question; it is left out.
    Reads: request, embedded, ranked, candidates.
    Writes: ranked, best first, with scores and trails.
    Raises: StoreUnavailable, StoreTimeout.
    """
    context = runtime.context
    sources = {r["passage"]["id"]: r["score"] for r in state["ranked"][: context.link_passages]}
    links = await chunks.links(
        list(sources), max_df=context.link_max_df, fanout=FANOUT, access=access
    )
    titled, linked = link_signals(links, sources)
    candidates = {candidate["id"]: candidate for candidate in state["candidates"]}
    newcomers = await chunks.score(
        _best_linked(linked, candidates.keys()),
        embedding=await question_vector(state, embedder),
        question=state["request"]["words"],
        filters=state["request"]["filters"],
        access=access,
    )
    pool = [*candidates.values(), *map(_newcomer, newcomers)]
    signals = [
        Signals(
            **{
                **candidate["signals"],
                "titled": titled.get(candidate["id"], 0.0),
                "link": linked.get(candidate["id"], 0.0),
            }
        )
        for candidate in pool
    ]
    strategy = STRATEGIES[context.strategy]
    parts = strategy(signals, context.weights.model_dump(), context.rrf_k)
    totals = total(parts)
    order = sorted(range(len(pool)), key=lambda i: (-totals[i], pool[i]["id"]))
    kept = order[: max(KEPT, context.top_k)]

    texts = {r["passage"]["id"]: r["passage"] for r in state["ranked"]}
    missing = [pool[i]["id"] for i in kept if pool[i]["id"] not in texts]
    texts |= {p["id"]: p for p in await chunks.fetch(missing, access=access)}
    trails = _trails(links, sources, {id_: p["title"] for id_, p in texts.items()})
    stages = {c["id"]: standings(c, place) for place, c in enumerate(state["candidates"], start=1)}
    repeated = repeats(state)
    seen: set[str] = set()
    ranked: list[RankedPassage] = []
    for i in kept:
        passage = texts.get(pool[i]["id"])
        if passage is None or passage["text_hash"] in seen or repeated(passage["text"]):
            continue
        seen.add(passage["text_hash"])
        score = float(totals[i])
        place = Standing(rank=len(ranked) + 1, score=round(score, 6))
        ranked.append(
            RankedPassage(
                passage=passage,
                score=score,
                signals=signals[i],
                stages={**stages.get(passage["id"], {}), FUSED: place},
                strategy=context.strategy,
                **shares(parts, i),
                matched=pool[i]["matched"],
                links=trails.get(passage["id"], []),
                reranker=None,
            )
        )
    return RetrievalUpdate(ranked=ranked)


def _best_linked(linked: Mapping[int, float], known: Container[int]) -> list[int]:
    """Passages that only links lead to, the strongest: the others would not come far."""
    new = [id_ for id_ in linked if id_ not in known]
    return sorted(new, key=lambda id_: (-linked[id_], id_))[:NEWCOMERS]


def _newcomer(score: ChunkScores) -> Candidate:
    """A passage that only a link leads to."""
    signals = Signals(
        dense=score["dense"],
        bm25=score["bm25"],
        graph=0.0,
        title=0.0,
        titled=0.0,
        link=0.0,
        walk=0.0,
        named=False,
        dense_rank=None,
        bm25_rank=None,
        graph_rank=None,
    )
    return Candidate(id=score["id"], signals=signals, matched=[], stage=0.0)


def _trails(
    links: list[PassageLink], sources: dict[int, float], titles: dict[int, str]
) -> dict[int, list[LinkTrail]]:
    """The strongest links to each passage."""
    trails: dict[int, list[LinkTrail]] = defaultdict(list)
    for link in links:
        trails[link["target"]].append(
            LinkTrail(
                source=link["source"],
                title=titles.get(link["source"], ""),
                entity=link["name"],
                kind=link["kind"],
                strength=round(sources[link["source"]] * link_strength(link), 4),
            )
        )
    return {
        target: sorted(found, key=lambda t: (-t["strength"], t["source"], t["entity"]))[:TRAILS]
        for target, found in trails.items()
    }
