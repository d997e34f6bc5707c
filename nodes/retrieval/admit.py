"""The door: validate what is asked, forget the thread's previous run, choose the plan."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any, cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from ...context import RetrievalContext
from ...models.chat import Chat
from ...models.keywords import keywords
from ...models.personas import Personas
from ...settings import Settings
from ...state import (
    MAX_PASSAGE,
    MAX_QUESTION,
    MAX_TURNS,
    Plan,
    Request,
    RetrievalInput,
    RetrievalUpdate,
)
from ...stores.access import Access, Identity
from ...stores.breaker import Breaker
from ...stores.checks import storable
from ...stores.errors import InvalidInput, UnknownNamespace
from ...stores.protocols import ChunkStore, EntityStore
from ...stores.records import Filters, NamespaceStats, Passage
from ._traversal import plan_traversal

__all__ = ["admit"]

WORDS = 48
"""Of a text in place of a question, what BM25 looks for."""
TURN_LENGTH = 2000
"""Characters of a turn that are kept: enough to tell who was spoken of."""


async def admit(
    state: RetrievalInput,
    runtime: Runtime[RetrievalContext],
    *,
    chunks: ChunkStore,
    entities: EntityStore,
    identity: Identity,
    settings: Settings,
    personas: Personas,
    graph_breaker: Breaker,
    walks_record: bool,
    chat: Chat | None,
    today: date,
) -> RetrievalUpdate:
    """Validate what is asked, reset what an earlier run left on the thread, and choose the plan.

    Reads: the inputs. Writes: request, plan, traversal, and every other channel empty. Raises:
    InvalidInput, UnknownNamespace, StoreUnavailable.
    """
    context = runtime.context
    if context.extraction == "llm" and chat is None:
        raise InvalidInput("extraction=llm needs a chat model; set CLEW_CHAT_MODEL.")
    persona = personas.named(context.persona)
    text, discover = _text(state)
    namespaces = list(dict.fromkeys(state.namespaces)) or [settings.namespace]
    crosses = context.cross_namespace
    if crosses is False or (crosses is None and not persona.cross_namespace):
        namespaces = namespaces[:1]
    access = identity.access(tuple(namespaces))
    stats = await _stats(namespaces, entities, access)
    filters = cast("Filters", state.filters.model_dump(exclude_defaults=True))
    if state.document_id:
        stored = await _document(state.document_id, chunks, access)
        if discover:
            text = text or _joined(stored)[:MAX_PASSAGE]
            filters["exclude"] = [*filters.get("exclude", []), state.document_id]
    words = await asyncio.to_thread(keywords, text, WORDS) if discover else text
    graph_out = graph_breaker.state == "open" and (
        walks_record or context.on_graph_failure != "postgres"
    )
    forgotten: Any = Overwrite([])
    return RetrievalUpdate(
        request=Request(
            question=text,
            words=words,
            discover=discover,
            document_id=state.document_id,
            history=[
                {"role": turn.role, "content": storable(turn.content)[:TURN_LENGTH]}
                for turn in state.history[-MAX_TURNS:]
            ],
            namespaces=namespaces,
            versions=[entry["version"] for entry in stats],
            filters=filters,
        ),
        plan=_plan(context, stats, graph_out),
        traversal=plan_traversal(None, context, persona, today=today),
        understanding=None,
        embedded=True,
        hits=[],
        seeds=[],
        entities=[],
        expanded=False,
        sparse=False,
        synonyms=[],
        synonyms_tried=False,
        synonyms_wanted=False,
        entity_passages=[],
        candidates=[],
        ranked=[],
        reading=None,
        relationships=[],
        context="",
        documents=[],
        diagnostics={},
        calls=forgotten,
        degraded=forgotten,
        steps=forgotten,
    )


def _text(state: RetrievalInput) -> tuple[str, bool]:
    """What the run is about, and whether it is a text rather than a question."""
    question, passage = state.question.strip(), state.passage.strip()
    if question and passage:
        raise InvalidInput(
            "There is a question and a passage; give the question, or the passage to discover "
            "what is connected with it."
        )
    if passage:
        return _checked(passage, "passage", MAX_PASSAGE), True
    if question:
        return _checked(question, "question", MAX_QUESTION), False
    if not state.document_id:
        raise InvalidInput("The question is empty; ask something.")
    return "", True


def _checked(text: str, what: str, most: int) -> str:
    if len(text) > most:
        raise InvalidInput(
            f"The {what} has {len(text):,} characters; the most is {most:,}. "
            "Shorten it to what you want to know."
        )
    if "\x00" in text:
        raise InvalidInput(f"The {what} contains a null byte; remove it.")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidInput(f"The {what} contains half of a surrogate pair; remove it.")
    return text


async def _stats(
    namespaces: list[str], entities: EntityStore, access: Access
) -> list[NamespaceStats]:
    """Of each namespace, in their order."""
    known = {entry["namespace"]: entry for entry in await entities.stats(access=access)}
    for name in namespaces:
        # The same words whether it does not exist or may not be entered.
        if name not in known:
            raise UnknownNamespace(
                f"There is no namespace {name!r}; ingest into it first, or name another."
            )
    return [known[name] for name in namespaces]


async def _document(key: str, chunks: ChunkStore, access: Access) -> list[Passage]:
    """What the caller may read of the document, in its first namespace that holds it."""
    found = await chunks.of_document(storable(key), access=access)
    if not found:
        # The same words whether it does not exist or may not be read.
        raise InvalidInput(f"There is no document {key!r} in these namespaces; check its id.")
    return [passage for passage in found if passage["namespace"] == found[0]["namespace"]]


def _joined(passages: list[Passage]) -> str:
    """The document's text: its chunks without what they share with the one before."""
    text, end = "", 0
    for passage in passages:
        start = passage["char_start"]
        text += "\n" * (start > end) + passage["text"][max(end - start, 0) :]
        end = max(end, start + len(passage["text"]))
    return text


def _plan(context: RetrievalContext, stats: list[NamespaceStats], graph_out: bool) -> Plan:
    if context.mode == "search_only":
        return Plan(mode="search_only", reason="the caller asked for search only")
    if not any(entry["entities"] for entry in stats):
        return Plan(mode="search_only", reason="the namespaces hold no entities")
    if graph_out:
        return Plan(mode="search_only", reason="the circuit of the graph database is open")
    return Plan(mode="hybrid", reason="the namespaces hold entities")
