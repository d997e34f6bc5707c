"""What the question is about: by the LLM when there is one and it is in time, else by its words."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import date

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.chat import Chat
from ...models.intents import LEAST_CONFIDENCE, read_question
from ...models.names import mentions, normalise
from ...models.periods import period_of
from ...models.personas import Personas
from ...models.spans import name_spans
from ...prompts.understand_question import PROMPT, QuestionUnderstanding
from ...state import (
    Degradation,
    MentionFound,
    Request,
    RetrievalState,
    RetrievalUpdate,
    Understanding,
)
from ...stores.cache import Scope
from ._traversal import plan_traversal

__all__ = ["extract_entities"]

TURNS = 6
"""Of the conversation, its last; they tell whom the question means."""
TEXT_LENGTH = 6000
"""Characters of a text in place of a question that the model reads."""
NAMES = 50
"""Of a text in place of a question, those it names most often."""
SURE = 0.75
"""Of a name in running text, where a word that only opens a sentence is no name."""
ASKING = 0.9
"""Of the step's time: the rest is for reading the words, should the model not answer."""


async def extract_entities(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    chat: Chat | None,
    personas: Personas,
    seconds: float,
    scope: Scope | None,
    today: date,
) -> RetrievalUpdate:
    """Name the entities and the intent of the question, say which rung did, and plan the walk.

    Reads: request. Writes: understanding, traversal, calls, degraded.
    """
    request, context = state["request"], runtime.context
    update = RetrievalUpdate()
    understanding = None
    if chat is not None and context.extraction != "lexical":
        answer, call = await chat.ask(
            PROMPT, _values(request), seconds=ASKING * seconds, scope=scope
        )
        update["calls"] = [call]
        if answer is None:
            update["degraded"] = [_lost(str(call["error"]))]
        else:
            understanding = await asyncio.to_thread(_by_llm, request, answer, today)
    if understanding is None:
        understanding = await asyncio.to_thread(_by_words, request, today)
    traversal = plan_traversal(understanding, context, personas.named(context.persona), today=today)
    return RetrievalUpdate(**update, understanding=understanding, traversal=traversal)


def _lost(reason: str) -> Degradation:
    return Degradation(
        stage="extract_entities",
        reason=reason,
        effect="the question was read by its words alone",
        failed=False,
    )


def _values(request: Request) -> dict[str, str]:
    """What the prompt is filled with."""
    text = request["question"]
    return {
        "history": json.dumps(request["history"][-TURNS:], ensure_ascii=False),
        "question": text[:TEXT_LENGTH] if request["discover"] else text,
    }


def _by_llm(request: Request, answer: QuestionUnderstanding, today: date) -> Understanding:
    names = dict.fromkeys([*answer.entities, *([answer.place] if answer.place else [])])
    named = [MentionFound(text=name, kind="llm") for name in names if name]
    # A name that stands in the graph word for word is evidence the model cannot outvote.
    maybe = [MentionFound(text=m["text"], kind="ngram") for m in _words(request)]
    time = answer.time or None
    return Understanding(
        rung="llm",
        intent=answer.intent if answer.confidence >= LEAST_CONFIDENCE else "general",
        confidence=answer.confidence,
        mentions=named + maybe,
        time=time,
        # What a text tells of does not bound what is connected with it.
        period=period_of(time, today=today) if time and not request["discover"] else None,
        place=answer.place or None,
    )


def _by_words(request: Request, today: date) -> Understanding:
    found = _words(request)
    if not any(mention["kind"] == "span" for mention in found):
        found = _lately_named(request) + found
    reading = read_question("" if request["discover"] else request["question"], today=today)
    return Understanding(
        rung="lexical",
        intent=reading.intent,
        confidence=reading.confidence,
        mentions=found,
        time=reading.time,
        period=reading.period,
        place=reading.place,
    )


def _words(request: Request) -> list[MentionFound]:
    """Of a question all words that may name something; of a text the names it repeats most."""
    if not request["discover"]:
        return [MentionFound(text=t, kind=kind) for t, kind in mentions(request["question"])]
    return _named_in(request["question"])[:NAMES]


def _lately_named(request: Request) -> list[MentionFound]:
    """Whom the user spoke of last; a question that names nobody means somebody of these."""
    turns = [turn["content"] for turn in request["history"][-TURNS:] if turn["role"] == "user"]
    return _named_in("\n\n".join(reversed(turns)))


def _named_in(text: str) -> list[MentionFound]:
    """The names in a text, each once, by how often it is named, then by where it is named first."""
    names = [span.name for span in name_spans(text) if span.confidence >= SURE]
    count = Counter(map(normalise, names))
    first = {normalise(name): name for name in reversed(names)}
    order = sorted(dict.fromkeys(map(normalise, names)), key=lambda name: -count[name])
    return [MentionFound(text=first[name], kind="span") for name in order if name]
