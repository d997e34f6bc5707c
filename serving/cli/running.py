"""Running the graphs from a command: services opened and closed, steps seen as they happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import StateUpdate

from ...context import RetrievalContext
from ...graph import retrieval
from ...graph.steps import OpenServices
from ...services import close_services, current_services
from ...state import RetrievalState
from ...stores.access import acting_as

__all__ = ["Edge", "Seen", "Thread", "ask_once", "given", "run", "supersteps", "watch"]

T = TypeVar("T")


class Edge(NamedTuple):
    """A branch that was taken: why, and where to."""

    reason: str
    to: str


class Seen(NamedTuple):
    """One step as it happened.

    Steps with the same `superstep`, from 1, ran side by side: `before` and `after` are the state
    around all of them. `left_ms`: what the run had left for optional steps. `edges`: the branches
    taken next.
    """

    superstep: int
    node: str
    ms: float
    left_ms: float
    update: RetrievalState
    edges: list[Edge]
    before: RetrievalState
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
    graph = retrieval.build(open_services).compile()
    async for seen in _steps(graph, dict(asked), context):
        yield seen


def supersteps(seen: Sequence[Seen]) -> list[dict[str, Mapping[str, Any]]]:
    """What the nodes of each superstep wrote."""
    written: dict[int, dict[str, Mapping[str, Any]]] = {}
    for one in seen:
        written.setdefault(one.superstep, {})[one.node] = one.update
    return list(written.values())


class Thread:
    """A run that may begin in the middle, stop after each step and be changed there."""

    def __init__(self, context: RetrievalContext) -> None:
        self._context = context
        self._graph = retrieval.build(current_services).compile(checkpointer=InMemorySaver())
        self._config: RunnableConfig = {"configurable": {"thread_id": "trace"}}
        self._passed: list[str] = []
        self._supersteps = 0

    async def repeat(self, supersteps: Sequence[Mapping[str, Mapping[str, Any]]]) -> None:
        """Take on what the nodes of earlier supersteps wrote, as if they had just run."""
        updates = [[StateUpdate(dict(u), n) for n, u in step.items()] for step in supersteps]
        if updates:
            await self._graph.abulk_update_state(self._config, updates)
            self._passed = list(supersteps[-1])
            self._supersteps += len(supersteps)

    async def change(self, update: Mapping[str, Any]) -> None:
        """Change the state after the last step; where its branches lead is asked again."""
        # All nodes that ran side by side say so, or the edges of the others would be lost.
        first, *others = self._passed
        changes = [StateUpdate(dict(update), first), *(StateUpdate({}, n) for n in others)]
        await self._graph.abulk_update_state(self._config, [changes])

    async def state(self) -> dict[str, Any]:
        """Everything the run knows."""
        return dict((await self._graph.aget_state(self._config)).values)

    async def next(self) -> tuple[str, ...]:
        """The nodes that come next; none when the run has ended."""
        return (await self._graph.aget_state(self._config)).next

    async def go(
        self, asked: Mapping[str, Any] | None = None, *, stopping: bool = False
    ) -> AsyncIterator[Seen]:
        """Each step from here, or from the start when there is input; one superstep if stopping."""
        steps = _steps(
            self._graph,
            None if asked is None else dict(asked),
            self._context,
            config=self._config,
            interrupt_after="*" if stopping else None,
        )
        superstep = 0
        async for seen in steps:
            if seen.superstep != superstep:
                superstep, self._passed = seen.superstep, []
            self._passed.append(seen.node)
            yield seen._replace(superstep=self._supersteps + superstep)
        self._supersteps += superstep


async def _steps(
    graph: retrieval.Retrieval,
    asked: dict[str, Any] | None,
    context: RetrievalContext,
    **how: Any,
) -> AsyncIterator[Seen]:
    stream = graph.astream(
        asked,
        context=context,
        stream_mode=["updates", "values"],
        output_keys=list(RetrievalState.__annotations__),
        **how,
    )
    updates: dict[str, RetrievalState] = {}
    before, superstep = RetrievalState(), 0
    async for mode, payload in cast("AsyncIterator[tuple[str, Any]]", stream):
        if mode == "updates":
            updates |= {node: wrote for node, wrote in payload.items() if node != "__interrupt__"}
            continue
        superstep += bool(updates)
        for node, update in updates.items():
            took = [step for step in payload["steps"] if step["node"] == node][-1]
            edges = _edges(node, payload)
            yield Seen(superstep, node, took["ms"], took["left_ms"], update, edges, before, payload)
        before, updates = payload, {}


def _edges(node: str, state: RetrievalState) -> list[Edge]:
    if node not in retrieval.BRANCHES:
        return []
    router, targets = retrieval.BRANCHES[node]
    chosen = router(state)
    reasons = [chosen] if isinstance(chosen, str) else chosen
    return [Edge(reason, targets[reason]) for reason in reasons]
