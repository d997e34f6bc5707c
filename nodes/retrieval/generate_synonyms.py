"""Other names for the first seeds, asked of the LLM only when the graph has little to say."""

from __future__ import annotations

import json

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.chat import ChatModel
from ...models.embeddings import Embedder, ModelUnavailable
from ...models.names import normalise
from ...prompts.synonyms import PROMPT, SynonymAnswer
from ...prompts.template import delimited, printable
from ...state import Degradation, RetrievalState, RetrievalUpdate, SynonymTried
from ...stores.breaker import CircuitOpen

__all__ = ["generate_synonyms"]

SEEDS = 2


async def generate_synonyms(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    chat: ChatModel | None,
    embedder: Embedder,
    seconds: float,
) -> RetrievalUpdate:
    """Ask for synonyms of two seeds and keep those that have not drifted from their seed.

    Reads: seeds, understanding. Writes: synonyms, synonyms_tried, synonyms_wanted, degraded.
    Without an answer the run goes on with what it has.
    """
    tried = RetrievalUpdate(synonyms_tried=True, synonyms_wanted=False)
    names = _names(state)
    if chat is None or not names:
        return tried
    context = runtime.context
    most = context.graph_max_synonyms_per_entity
    prompt = PROMPT.fill(
        names=delimited(json.dumps(names, ensure_ascii=False)),
        count=str(most),
        question=delimited(state["request"]["question"]),
    )
    try:
        answer = await chat.ask(prompt, SynonymAnswer, seconds=seconds)
    except (ModelUnavailable, CircuitOpen) as error:
        lost = Degradation(
            stage="generate_synonyms",
            reason=str(error),
            effect="no synonyms were tried",
            failed=False,
        )
        return RetrievalUpdate(**tried, degraded=[lost])
    judged = await _judge(_offered(names, answer, most), embedder, context.synonym_min_cosine)
    return RetrievalUpdate(**tried, synonyms=judged)


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
        for text in map(printable, entry.synonyms if name in found else ()):
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
