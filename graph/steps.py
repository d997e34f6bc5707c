"""Turning a node into a step of a graph: its services handed over, its time taken, failures met."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from ..context import RetrievalContext
from ..services import Services
from ..state import StepTime
from ..stores.access import Access, Identity, current_identity
from ..stores.errors import StoreTimeout
from .resilience import EXPECTED, degradation, seconds_for

__all__ = ["Branches", "OpenServices", "Step", "identity_of", "wire"]

OpenServices = Callable[[], Awaitable[Services]]
Branches = Mapping[str, tuple[Callable[[Any], Any], dict[Hashable, str]]]
"""From a node: the router, and where each of its reasons leads."""

Node = Callable[..., Awaitable[Mapping[str, Any]]]

INSTEAD = "the graph in PostgreSQL was asked instead of its copy"


@dataclass(frozen=True)
class Step:
    """A node and how it may fail.

    `effect`: what the answer lacks when the step fails; `None`: the run cannot do without it.
    `ceiling`: the context field with its time limit in ms. `guarded`: it asks the graph database,
    whose breaker counts its outcome; when that is a copy, the record may stand in. `otherwise`:
    what the step leaves in the state when it fails.

    A node that takes `seconds` is told how long it may take and minds the time itself.
    """

    node: Node
    effect: str | None = None
    ceiling: str | None = None
    guarded: bool = False
    otherwise: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name: in the graph, the trace and Studio."""
        return self.node.__name__

    def bind(self, open_services: OpenServices) -> Callable[..., Awaitable[dict[str, Any]]]:
        """The function that LangGraph calls: keyword parameters of the node are filled by name."""
        parameters = inspect.signature(self.node).parameters.values()
        wanted = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
        takes_runtime = any(p.name == "runtime" for p in parameters)
        state_type = get_type_hints(self.node)["state"]

        async def step(state: Any, runtime: Runtime[RetrievalContext]) -> dict[str, Any]:
            if runtime.context is None:
                runtime = runtime.override(context=RetrievalContext())
            services = await open_services()
            seconds = seconds_for(self.ceiling, runtime.context, _steps(state))
            given = {name: _provide(name, services, state, runtime, seconds) for name in wanted}
            if "seconds" in given:
                seconds = float("inf")
            arguments = (state, runtime) if takes_runtime else (state,)
            begun = time.perf_counter()
            update = await self._run(arguments, given, services, runtime.context, seconds)
            spent = (time.perf_counter() - begun) * 1000
            took = [StepTime(node=self.name, ms=round(spent, 2))]
            # The step that starts a run afresh also forgets the times of the run before.
            update["steps"] = Overwrite(took) if "steps" in update else took
            return update

        step.__name__ = self.name
        step.__doc__ = self.node.__doc__
        step.__annotations__["state"] = state_type
        return step

    async def _run(
        self,
        arguments: tuple[Any, ...],
        given: dict[str, Any],
        services: Services,
        context: RetrievalContext,
        seconds: float,
    ) -> dict[str, Any]:
        if self.effect is None:
            return dict(await self.node(*arguments, **given))
        try:
            if seconds <= 0:
                raise StoreTimeout("The run was out of time before this step.")
            guard = services.graph_breaker.call() if self.guarded else nullcontext()
            async with guard, _within(seconds):
                return dict(await self.node(*arguments, **given))
        except EXPECTED as error:
            lost = degradation(self.name, error, self.effect)
            if self.guarded and _has_copy(services) and context.on_graph_failure == "postgres":
                with suppress(*EXPECTED):
                    async with _within(seconds):
                        instead = {**given, "graph": services.record}
                        update = dict(await self.node(*arguments, **instead))
                    return {**update, "degraded": [{**lost, "effect": INSTEAD, "failed": False}]}
            return {**self.otherwise, "degraded": [lost]}


def _has_copy(services: Services) -> bool:
    return services.graph is not services.record


def _within(seconds: float) -> AbstractAsyncContextManager[Any]:
    return nullcontext() if seconds == float("inf") else asyncio.timeout(seconds)


def wire(
    builder: StateGraph[Any, Any, Any, Any],
    steps: Iterable[Step],
    edges: Iterable[tuple[str, str]],
    branches: Branches,
    open_services: OpenServices,
) -> None:
    """Lay the tables of a graph into its builder."""
    for step in steps:
        builder.add_node(step.name, step.bind(open_services))
    for source, target in edges:
        builder.add_edge(source, target)
    for source, (router, targets) in branches.items():
        builder.add_conditional_edges(source, router, targets)


def identity_of(runtime: Runtime[Any]) -> Identity:
    """Who is asking: the server's authenticated user, else the in-process caller.

    Nothing a client can put into a request, a configuration or a thread's state is looked at.
    """
    info = runtime.server_info
    if info is None:
        return current_identity()
    if info.user is None or not info.user.is_authenticated:
        return Identity()
    permissions = [str(p) for p in info.user.permissions or ()]
    principals = [str(info.user.identity), *(p for p in permissions if ":" not in p)]
    spaces = [p.removeprefix("namespace:") for p in permissions if p.startswith("namespace:")]
    return Identity(tuple(principals), tuple(spaces))


def _steps(state: Any) -> list[StepTime]:
    return state.get("steps", []) if isinstance(state, dict) else []


def _provide(
    name: str, services: Services, state: Any, runtime: Runtime[Any], seconds: float
) -> Any:
    if name == "identity":
        return identity_of(runtime)
    if name == "access":
        return _access(state, runtime)
    if name == "seconds":
        return seconds
    return getattr(services, name)


def _access(state: Any, runtime: Runtime[Any]) -> Access:
    """What this step may see. Asked anew each time, so that an edited state cannot widen it."""
    asked = state["request"]["namespaces"] if "request" in state else [state["target"]]
    return identity_of(runtime).access(tuple(asked))
