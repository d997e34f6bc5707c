"""Turning a node into a step of a graph: its services handed over, its time taken, failures met."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_type_hints

from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from ..context import RetrievalContext
from ..services import Services
from ..state import StepTime
from ..stores.errors import StoreTimeout
from ..stores.patience import within
from .given import Given
from .invocations import invocation_of
from .resilience import EXPECTED, OutOfTime, degradation, elapsed_ms, left_ms, out_of_time
from .routing import OUT_OF_TIME
from .watched import watched

__all__ = ["Branches", "OpenServices", "Step", "wire"]

OpenServices = Callable[[], Awaitable[Services]]
Branches = Mapping[str, tuple[Callable[[Any], Any], dict[Hashable, str]]]
"""From a node: the router, and where each of its reasons leads."""

Node = Callable[..., Coroutine[Any, Any, Mapping[str, Any]]]

INSTEAD = "the graph in PostgreSQL was asked instead of its copy"

SLACK_SECONDS = 0.02
"""What minds its own time gets so much more, and is then cut off."""


@dataclass(frozen=True)
class Step:
    """A node and how it may fail.

    `effect`: what the answer lacks when the step fails, or what tells it from the state; `None`:
    the run cannot do without it. `ceiling`: the context field with its time limit in ms, or what
    tells it from the state; `None` when it takes as long as it takes. `otherwise`: what the step
    leaves in the state when it fails.

    A node that takes `seconds` is told how long it may take and minds the time itself. One that
    takes `graph` asks the graph database, behind its breaker; when that is a copy, the record may
    stand in.
    """

    node: Node
    effect: str | Callable[[Any], str] | None = None
    ceiling: str | Callable[[Any], str] | None = None
    otherwise: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name: in the graph, the trace and Studio."""
        return self.node.__name__

    def bind(
        self, open_services: OpenServices, router: Callable[[Any], Any] | None = None
    ) -> Callable[..., Awaitable[dict[str, Any]]]:
        """The function that LangGraph calls. `router`: its edges may lead round optional steps."""
        state_type = get_type_hints(self.node)["state"]

        async def step(state: Any, runtime: Runtime[RetrievalContext]) -> dict[str, Any]:
            if runtime.context is None:
                runtime = runtime.override(context=RetrievalContext())
            services = await open_services()
            invocation = invocation_of(_steps(state), runtime)
            run = _run_of(state, invocation)
            with watched(self.name, self._graph, run, services.settings) as told:
                given = self._given(services, state, runtime, invocation)
                update = await self._run(given)
                spent = 1000 * (time.monotonic() - given.begun)
                left = given.left_ms - spent
                took = [
                    StepTime(
                        node=self.name,
                        ms=round(spent, 2),
                        begun=given.begun,
                        invocation=invocation,
                        left_ms=round(left, 2),
                    )
                ]
                if router and left <= 0 and router(_after(state, update, took)) == OUT_OF_TIME:
                    lost = out_of_time(self.name, runtime.context)
                    update["degraded"] = [*update.get("degraded", []), lost]
                # The step that starts a run afresh also forgets the times of the run before.
                update["steps"] = Overwrite(took) if "steps" in update else took
                told(state, update)
            return update

        step.__name__ = self.name
        step.__doc__ = self.node.__doc__
        step.__annotations__["state"] = state_type
        return step

    def _given(
        self, services: Services, state: Any, runtime: Runtime[RetrievalContext], invocation: str
    ) -> Given:
        context, begun = runtime.context, time.monotonic()
        elapsed = elapsed_ms(_steps(state), invocation, begun)
        own, left = float("inf"), float("inf")
        if self.ceiling is not None:
            own = float(getattr(context, _told(self.ceiling, state)))
            left = left_ms(context, elapsed, optional=self.effect is not None)
        return Given(
            services=services,
            state=state,
            runtime=runtime,
            begun=begun,
            seconds=min(own, left) / 1000,
            hurried=left < own,
            left_ms=left_ms(context, elapsed, optional=True),
        )

    async def _run(self, given: Given) -> dict[str, Any]:
        try:
            return await self._attempt(given)
        except EXPECTED as error:
            if self.effect is None:
                raise self._fatal(error, given) from error
            lost = degradation(self.name, error, _told(self.effect, given.state))
            instead = given.instead() if "graph" in self._wanted else None
            if instead is not None:
                with suppress(*EXPECTED):
                    update = await self._attempt(instead)
                    return {**update, "degraded": [{**lost, "effect": INSTEAD, "failed": False}]}
            return {**self.otherwise, "degraded": [lost]}

    async def _attempt(self, given: Given) -> dict[str, Any]:
        if given.seconds <= 0:
            raise OutOfTime("The run was out of time before this step.")
        arguments = (given.state, given.runtime)[: 1 + self._takes_runtime]
        lent = {name: given[name] for name in self._wanted}
        slack = SLACK_SECONDS if {"seconds", "graph"} & lent.keys() else 0
        return dict(await within(given.seconds, self.node(*arguments, **lent), slack=slack))

    def _fatal(self, error: Exception, given: Given) -> Exception:
        """What ends a run that cannot do without this step."""
        if not isinstance(error, TimeoutError | OutOfTime):
            return error
        return StoreTimeout(
            f"The run's {given.runtime.context.budget_ms:,} ms were over before {self.name} had "
            "ended, without which there is no answer; see that the database is up to its load, or "
            "raise budget_ms."
        )

    @property
    def _graph(self) -> str:
        """Whose node it is: `retrieval` or `ingestion`, the package that it stands in."""
        return self.node.__module__.split(".")[-2]

    @cached_property
    def _wanted(self) -> list[str]:
        """The names of the node's keyword parameters."""
        parameters = inspect.signature(self.node).parameters.values()
        return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]

    @cached_property
    def _takes_runtime(self) -> bool:
        return "runtime" in inspect.signature(self.node).parameters


def wire(
    builder: StateGraph[Any, Any, Any, Any],
    steps: Iterable[Step],
    edges: Iterable[tuple[str, str]],
    branches: Branches,
    open_services: OpenServices,
) -> None:
    """Lay the tables of a graph into its builder."""
    for step in steps:
        router, targets = branches.get(step.name, (None, {}))
        hurried = router if OUT_OF_TIME in targets else None
        builder.add_node(step.name, step.bind(open_services, hurried))
    for source, target in edges:
        builder.add_edge(source, target)
    for source, (router, targets) in branches.items():
        builder.add_conditional_edges(source, router, targets)


def _told(what: str | Callable[[Any], str], state: Any) -> str:
    """What a table says, by itself or of the state."""
    return what if isinstance(what, str) else what(state)


def _after(state: Any, update: Mapping[str, Any], took: list[StepTime]) -> dict[str, Any]:
    """The state as the router will see it."""
    degraded = [*state["degraded"], *update.get("degraded", [])]
    return {**state, **update, "steps": took, "degraded": degraded}


def _steps(state: Any) -> list[StepTime]:
    return state.get("steps", []) if isinstance(state, dict) else []


def _run_of(state: Any, invocation: str) -> str:
    """One name for all steps of a run, also when somebody steps through it: where it began."""
    steps = _steps(state)
    return steps[0]["invocation"] if steps else invocation
