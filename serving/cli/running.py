"""Running the graphs from a command: services opened and closed, steps seen as they happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar, cast

from ...context import RetrievalContext
from ...graph import retrieval
from ...graph.steps import OpenServices
from ...services import close_services, current_services
from ...state import RetrievalState
from ...stores.access import acting_as

__all__ = ["Seen", "ask_once", "given", "run", "watch"]

T = TypeVar("T")


class Seen(NamedTuple):
    """One step as it happened; `reasons` name the edges taken next, `after` is the state then."""

    node: str
    ms: float
    update: RetrievalState
    reasons: list[str]
    after: RetrievalState


def run(work: Callable[[], Coroutine[Any, Any, T]], principals: list[str] | None = None) -> T:
    """Run one command's work as the given principals, and close what it opened."""

    async def closing() -> T:
        try:
            return await work()
        finally:
            await close_services()

    with acting_as(*(principals or ())):
        return asyncio.run(closing())


def given(question: str, namespaces: list[str] | None) -> dict[str, Any]:
    """The graph's input."""
    return {"question": question, "namespaces": namespaces or []}


async def ask_once(
    question: str, namespaces: list[str] | None, context: RetrievalContext
) -> dict[str, Any]:
    """The graph's output for one question."""
    return await retrieval.graph.ainvoke(given(question, namespaces), context=context)


async def watch(
    asked: Mapping[str, Any],
    context: RetrievalContext,
    open_services: OpenServices = current_services,
) -> AsyncIterator[Seen]:
    """Each step of a run, in the order in which they end."""
    updates: dict[str, RetrievalState] = {}
    stream = (
        retrieval.build(open_services)
        .compile()
        .astream(
            dict(asked),
            context=context,
            stream_mode=["updates", "values"],
            output_keys=list(RetrievalState.__annotations__),
        )
    )
    async for mode, payload in cast("AsyncIterator[tuple[str, Any]]", stream):
        if mode == "updates":
            updates |= payload
            continue
        for node, update in updates.items():
            taken = [step["ms"] for step in payload["steps"] if step["node"] == node]
            yield Seen(node, taken[-1], update, _reasons(node, payload), payload)
        updates = {}


def _reasons(node: str, state: RetrievalState) -> list[str]:
    if node not in retrieval.BRANCHES:
        return []
    router, targets = retrieval.BRANCHES[node]
    chosen = router(state)
    reasons = [chosen] if isinstance(chosen, str) else chosen
    return [f"{reason} → {targets[reason]}" for reason in reasons]
