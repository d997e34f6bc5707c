"""From words to entities of the graph: exact, alias, typo, full text, then meaning."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.chat import Chat
from ...models.embeddings import Embedder
from ...models.names import normalise
from ...state import RetrievalState, RetrievalUpdate
from ...stores.access import Access
from ...stores.cache import Cache, Scope
from ...stores.fallback import FallbackRate
from ...stores.protocols import ChunkStore, EntityStore
from ...stores.records import ChunkEntity, LinkedEntity, LinkVia, NameMatch
from ._seeds import at_seed
from ._synonyms import synonyms_wanted

__all__ = ["link_entities"]

TEXT_LIMIT = 5
ENOUGH = 3
"""A mention with fewer matches than this is also looked up by meaning."""
MIN_COSINE = 0.8
ORDINARY = 0.05
"""Factor on an ordinary word that is some rare entity's name too ("born", "film"), beside names."""
ANCHOR_SCORE = 0.2
"""Of an entity that only a good search hit vouches for, not the question."""


async def link_entities(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    entities: EntityStore,
    chunks: ChunkStore,
    embedder: Embedder,
    chat: Chat | None,
    mention_fallback: FallbackRate,
    links: Cache[Sequence[NameMatch]],
    scope: Scope | None,
    left_ms: float,
    access: Access,
) -> RetrievalUpdate:
    """Find the entities that the question, its synonyms and the best passages name.

    Reads: understanding, traversal, synonyms, hits. Writes: seeds, entities (after synonyms),
    synonyms_wanted. Raises: StoreUnavailable, StoreTimeout.
    """
    context = runtime.context
    worth = await _vouching(state, context.anchor_passages, chunks, access)
    if state["synonyms_tried"]:
        return await _add_synonyms(state, context, worth, entities, access)
    understanding = state["understanding"]
    mentions = understanding["mentions"] if understanding else []
    likely = {normalise(m["text"]): m["text"] for m in mentions if m["kind"] != "ngram"}
    possible = {normalise(m["text"]): m["text"] for m in mentions} | likely
    for names in (likely, possible):
        names.pop("", None)

    async def looked_up() -> Sequence[NameMatch]:
        key = scope, tuple(possible), tuple(likely)
        known = links.get(key) if scope else None
        if known is not None:
            return known
        found = await entities.find_exact(list(possible), access=access)
        unknown = _without(list(likely), found)
        approximate = await _approximate(unknown, state["embedded"], entities, embedder, access)
        mention_fallback.note(len(likely), len(_few(unknown, approximate)))
        matches = (*_longest(found), *approximate)
        if scope and state["embedded"]:
            links.put(key, matches)
        return matches

    matches, anchors = await asyncio.gather(looked_up(), _anchors(worth, entities, access))
    seeds = _seeds(_discounted(matches, likely), possible)
    if not seeds and likely:
        wanted = synonyms_wanted(
            "no_seeds", chat=chat, context=context, tried=False, left_ms=left_ms
        )
        if wanted:
            return RetrievalUpdate(seeds=[], synonyms_wanted=True)
    return RetrievalUpdate(seeds=_with_anchors(seeds, anchors), synonyms_wanted=False)


async def _approximate(
    names: list[str],
    by_meaning: bool,
    entities: EntityStore,
    embedder: Embedder,
    access: Access,
) -> list[NameMatch]:
    """One rung after the other, each only for the names the rungs above left open."""
    if not names:
        return []
    matches = await entities.find_similar(names, limit=TEXT_LIMIT, access=access)
    still = _without(names, matches)
    matches += await entities.find_text(still, limit=TEXT_LIMIT, access=access)
    still = _few(still, matches)
    if still and by_meaning:
        matches += await entities.find_nearest(
            still,
            await embedder.embed(still),
            limit=TEXT_LIMIT,
            min_cosine=MIN_COSINE,
            access=access,
        )
    return matches


async def _vouching(
    state: RetrievalState, most: int, chunks: ChunkStore, access: Access
) -> dict[int, float]:
    """What the best search hits are worth as anchors; for a general question from within a
    document, that document's own passages as much as the best hit.
    """
    hits = state["hits"][:most]
    worth = {hit["id"]: ANCHOR_SCORE * hit["rrf"] / hits[0]["rrf"] for hit in hits}
    request = state["request"]
    starts_there = request["document_id"] and state["traversal"]["intent"] == "general"
    if starts_there and not request["discover"]:
        own = await chunks.of_document(request["document_id"], access=access)
        worth |= {passage["id"]: ANCHOR_SCORE for passage in own[:most]}
    return worth


async def _anchors(
    worth: Mapping[int, float], entities: EntityStore, access: Access
) -> list[LinkedEntity]:
    """The entities of passages, worth what their best passage is worth."""
    if not worth:
        return []
    found = await entities.mentions_in(list(worth), access=access)
    best: dict[int, ChunkEntity] = {}
    for entity in sorted(found, key=lambda e: (-worth[e["chunk"]], e["id"])):
        best.setdefault(entity["id"], entity)
    return [
        LinkedEntity(
            id=entity["id"],
            name=entity["name"],
            type=entity["type"],
            df=entity["df"],
            mention=f"passage {entity['chunk']}",
            via="anchor",
            score=worth[entity["chunk"]],
        )
        for entity in best.values()
    ]


def _with_anchors(seeds: list[LinkedEntity], anchors: list[LinkedEntity]) -> list[LinkedEntity]:
    known = {seed["id"] for seed in seeds}
    return seeds + [anchor for anchor in anchors if anchor["id"] not in known]


async def _add_synonyms(
    state: RetrievalState,
    context: RetrievalContext,
    worth: Mapping[int, float],
    entities: EntityStore,
    access: Access,
) -> RetrievalUpdate:
    kept = {normalise(s["text"]): s["text"] for s in state["synonyms"] if s["kept"]}
    kept.pop("", None)
    matches = await entities.find_exact(list(kept), access=access)
    still = _without(list(kept), matches)
    matches += await entities.find_text(still, limit=TEXT_LIMIT, access=access)
    known = {seed["id"] for seed in state["seeds"]} | {e["id"] for e in state["entities"]}
    new = [
        seed
        for seed in _seeds(matches, kept, via="synonym", factor=context.synonym_discount)
        if seed["id"] not in known
    ]
    seeds = state["seeds"] + new
    if not state["expanded"]:
        seeds = _with_anchors(seeds, await _anchors(worth, entities, access))
    reached = [at_seed(seed) for seed in new]
    return RetrievalUpdate(seeds=seeds, entities=state["entities"] + reached, synonyms_wanted=False)


def _longest(matches: Sequence[NameMatch]) -> list[NameMatch]:
    """Without the names that are only part of a longer name that was found."""
    queries = {match["query"] for match in matches}
    inner = {a for a in queries for b in queries if a != b and f" {a} " in f" {b} "}
    return [match for match in matches if match["query"] not in inner]


def _discounted(matches: Sequence[NameMatch], likely: Container[str]) -> list[NameMatch]:
    """Single words that do not look like names count little, unless nothing else was found."""
    ordinary = {m["query"] for m in matches if m["query"] not in likely and " " not in m["query"]}
    if all(match["query"] in ordinary for match in matches):
        return list(matches)
    return [
        {**match, "score": match["score"] * ORDINARY} if match["query"] in ordinary else match
        for match in matches
    ]


def _seeds(
    matches: Iterable[NameMatch],
    texts: dict[str, str],
    *,
    via: LinkVia | None = None,
    factor: float = 1.0,
) -> list[LinkedEntity]:
    """One seed an entity, by its best match; best first, ties by id."""
    best: dict[int, NameMatch] = {}
    for match in matches:
        held = best.get(match["entity"]["id"])
        if held is None or match["score"] > held["score"]:
            best[match["entity"]["id"]] = match
    seeds = [
        LinkedEntity(
            **match["entity"],
            mention=texts.get(match["query"], match["query"]),
            via=via or match["via"],
            score=match["score"] * factor,
        )
        for match in best.values()
    ]
    return sorted(seeds, key=lambda seed: (-seed["score"], seed["id"]))


def _few(names: list[str], matches: list[NameMatch]) -> list[str]:
    """Names for which words alone found less than enough."""
    found = Counter(match["query"] for match in matches if match["via"] != "vector")
    typos = {match["query"] for match in matches if match["via"] == "typo"}
    return [name for name in names if name not in typos and found[name] < ENOUGH]


def _without(names: list[str], matches: list[NameMatch]) -> list[str]:
    done = {match["query"] for match in matches}
    return [name for name in names if name not in done]
