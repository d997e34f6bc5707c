"""The door: validate the question, forget the thread's previous run, choose the plan."""

from __future__ import annotations

from typing import Any, cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from ...context import RetrievalContext
from ...models.chat import ChatModel
from ...settings import Settings
from ...state import MAX_QUESTION, Plan, Request, RetrievalInput, RetrievalUpdate
from ...stores.access import Identity
from ...stores.breaker import Breaker
from ...stores.errors import InvalidInput, UnknownNamespace
from ...stores.protocols import EntityStore, GraphStore
from ...stores.records import Filters, NamespaceStats

__all__ = ["admit"]


async def admit(
    state: RetrievalInput,
    runtime: Runtime[RetrievalContext],
    *,
    entities: EntityStore,
    identity: Identity,
    settings: Settings,
    graph: GraphStore,
    record: GraphStore,
    graph_breaker: Breaker,
    chat: ChatModel | None,
) -> RetrievalUpdate:
    """Validate the question, reset what an earlier run left on the thread, and choose the plan.

    Reads: the inputs. Writes: request, plan, and every other channel empty. Raises: InvalidInput,
    UnknownNamespace, StoreUnavailable.
    """
    context = runtime.context
    question = _question(state.question)
    if context.extraction == "llm" and chat is None:
        raise InvalidInput("extraction=llm needs a chat model; set CLEW_CHAT_MODEL.")
    namespaces = list(dict.fromkeys(state.namespaces)) or [settings.namespace]
    stats = await entities.stats(access=identity.access(tuple(namespaces)))
    known = {entry["namespace"] for entry in stats}
    for name in namespaces:
        # The same words whether it does not exist or may not be entered.
        if name not in known:
            raise UnknownNamespace(
                f"There is no namespace {name!r}; ingest into it first, or name another."
            )
    filters = cast("Filters", state.filters.model_dump(exclude_defaults=True))
    forgotten: Any = Overwrite([])
    return RetrievalUpdate(
        request=Request(question=question, namespaces=namespaces, filters=filters),
        plan=_plan(context, stats, _out(context, graph, record, graph_breaker)),
        understanding=None,
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
        relationships=[],
        context="",
        documents=[],
        diagnostics={},
        degraded=forgotten,
        steps=forgotten,
    )


def _question(text: str) -> str:
    question = text.strip()
    if not question:
        raise InvalidInput("The question is empty; ask something.")
    if len(question) > MAX_QUESTION:
        raise InvalidInput(
            f"The question has {len(question):,} characters; the most is {MAX_QUESTION:,}. "
            "Shorten it to what you want to know."
        )
    if "\x00" in question:
        raise InvalidInput("The question contains a null byte; remove it.")
    if any("\ud800" <= letter <= "\udfff" for letter in question):
        raise InvalidInput("The question contains half of a surrogate pair; remove it.")
    return question


def _out(
    context: RetrievalContext, graph: GraphStore, record: GraphStore, breaker: Breaker
) -> bool:
    """Whether no graph can be asked: the circuit is open and nothing stands in."""
    stands_in = graph is not record and context.on_graph_failure == "postgres"
    return breaker.state == "open" and not stands_in


def _plan(context: RetrievalContext, stats: list[NamespaceStats], graph_out: bool) -> Plan:
    if context.mode == "search_only":
        return Plan(mode="search_only", reason="the caller asked for search only")
    if not any(entry["entities"] for entry in stats):
        return Plan(mode="search_only", reason="the namespaces hold no entities")
    if graph_out:
        return Plan(mode="search_only", reason="the circuit of the graph database is open")
    return Plan(mode="hybrid", reason="the namespaces hold entities")
