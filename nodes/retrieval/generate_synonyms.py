"""Other names for the first seeds, asked of the LLM only when the graph has little to say."""

from __future__ import annotations

import json

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.chat import Chat
from ...models.embeddings import Embedder, ModelUnavailable
from ...models.names import normalise
from ...prompts.synonyms import PROMPT, SynonymAnswer
from ...state import Degradation, RetrievalState, RetrievalUpdate, SynonymTried
from ...stores.cache import Scope

__all__ = ["generate_synonyms"]

SEEDS = 2
CONTEXT_LENGTH = 2000
"""Characters of the question that are sent along, which only tell in what sense a name is meant."""
ASKING = 0.9
"""Of the step's time: the rest is for comparing the synonyms with their seeds."""


async def generate_synonyms(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    chat: Chat | None,
    embedder: Embedder,
    seconds: float,
    left_ms: float,
    scope: Scope | None,
) -> RetrievalUpdate:
    """Ask for synonyms of two seeds and keep those that have not drifted from their seed.

    Takes at most half of what the run has left, since the steps that fetch passages come after.
    Without an answer, or an encoder to judge it with, the run goes on with what it has.
    Reads: request, embedded, seeds, understanding. Writes: synonyms, synonyms_tried,
    synonyms_wanted, calls, degraded.
    """
    tried = RetrievalUpdate(synonyms_tried=True, synonyms_wanted=False)
    names = _names(state)
    if chat is None or not names or not state["embedded"]:
        return tried
    context = runtime.context
    most = context.graph_max_synonyms_per_entity
    values = {
        "names": json.dumps(names, ensure_ascii=False),
        "count": str(most),
        "question": state["request"]["question"][:CONTEXT_LENGTH],
    }
    seconds = ASKING * min(seconds, left_ms / 2000)
    answer, call = await chat.ask(PROMPT, values, seconds=seconds, scope=scope)
    tried["calls"] = [call]
    if answer is None:
        return RetrievalUpdate(**tried, degraded=[_lost(str(call["error"]))])
    offered = _offered(names, answer, most)
    try:
        judged = await _judge(offered, embedder, context.synonym_min_cosine)
    except ModelUnavailable as error:
        return RetrievalUpdate(**tried, degraded=[_lost(str(error))])
    return RetrievalUpdate(**tried, synonyms=judged)


def _lost(reason: str) -> Degradation:
    return Degradation(
        stage="generate_synonyms", reason=reason, effect="no synonyms were tried", failed=False
    )


def _names(state: RetrievalState) -> list[str]:
    """The seeds the question named; without any, the words that look like names."""
    seeds = [seed["name"] for seed in state["seeds"] if seed["via"] != "anchor"]
    understanding = state["understanding"]
    mentions = understanding["mentions"] if understanding else []
    return (seeds or [m["text"] for m in mentions if m["kind"] != "ngram"])[:SEEDS]


def _offered(names: list[str], answer: SynonymAnswer, most: int) -> list[tuple[str, str]]:
    """Name and synonym, at most `most` a name, each once; names that were not asked are left."""
    found: dict[str, dict[str, str]] = {normalise(name): {} for name in names}
    for entry in answer.entities:
        name = normalise(entry.entity)
        for text in entry.synonyms if name in found else ():
            if normalise(text) not in ("", name):
                found[name].setdefault(normalise(text), text)
    return [(name, text) for name in names for text in list(found[normalise(name)].values())[:most]]


async def _judge(
    offered: list[tuple[str, str]], embedder: Embedder, least: float
) -> list[SynonymTried]:
    vectors = await embedder.embed([text for pair in offered for text in pair])
    return [
        SynonymTried(
            seed=seed,
            text=text,
            cosine=round(cosine := float(vectors[2 * i] @ vectors[2 * i + 1]), 4),
            kept=cosine > least,
        )
        for i, (seed, text) in enumerate(offered)
    ]
