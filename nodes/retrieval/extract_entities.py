"""What the question is about: by the LLM when there is one and it is in time, else by its words."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.chat import ChatModel
from ...models.embeddings import ModelUnavailable
from ...models.names import mentions
from ...prompts.template import delimited, printable
from ...prompts.understand_question import PROMPT, QuestionUnderstanding
from ...state import Degradation, MentionFound, RetrievalState, RetrievalUpdate, Understanding
from ...stores.breaker import CircuitOpen

__all__ = ["extract_entities"]

LEAST_CONFIDENCE = 0.5
"""An intent the model is less sure of counts as general."""


async def extract_entities(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    chat: ChatModel | None,
    seconds: float,
) -> RetrievalUpdate:
    """Name the entities and the intent of the question, and say which rung did.

    Reads: request. Writes: understanding, degraded.
    """
    question = state["request"]["question"]
    if chat is None or runtime.context.extraction == "lexical":
        return RetrievalUpdate(understanding=_lexical(question))
    prompt = PROMPT.fill(question=delimited(question))
    try:
        answer = await chat.ask(prompt, QuestionUnderstanding, seconds=seconds)
    except (ModelUnavailable, CircuitOpen) as error:
        lost = Degradation(
            stage="extract_entities",
            reason=str(error),
            effect="the question's entities were found by its words, without its intent",
            failed=False,
        )
        return RetrievalUpdate(understanding=_lexical(question), degraded=[lost])
    return RetrievalUpdate(understanding=_by_llm(question, answer))


def _lexical(question: str) -> Understanding:
    found = [MentionFound(text=text, kind=kind) for text, kind in mentions(question)]
    return Understanding(rung="lexical", intent="general", mentions=found, time=None, place=None)


def _by_llm(question: str, answer: QuestionUnderstanding) -> Understanding:
    named = [
        MentionFound(text=name, kind="llm") for name in map(printable, answer.entities) if name
    ]
    # A name that stands in the graph word for word is evidence the model cannot outvote.
    maybe = [MentionFound(text=text, kind="ngram") for text, _ in mentions(question)]
    return Understanding(
        rung="llm",
        intent=answer.intent if answer.confidence >= LEAST_CONFIDENCE else "general",
        mentions=named + maybe,
        time=answer.time,
        place=answer.place,
    )
