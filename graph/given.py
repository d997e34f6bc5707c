"""What one run of a step has: its services by name, on whose behalf it asks, and how long."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from langgraph.runtime import Runtime

from ..context import RetrievalContext
from ..services import Services
from ..stores.access import Access, Identity, current_identity
from ..stores.cache import Scope, scope_of
from .guarded import Deadline, GuardedGraph

__all__ = ["Given", "identity_of", "identity_of_user"]


@dataclass(frozen=True)
class Given:
    """One run of a step, from `begun` on `time.monotonic`.

    `seconds`: the step's ceiling or what the run has left, whichever is less; `hurried` when it is
    the latter. `left_ms`: what the run has left for optional steps. `from_record`: the graph in
    PostgreSQL stands in for its copy.
    """

    services: Services
    state: Any
    runtime: Runtime[RetrievalContext]
    begun: float
    seconds: float
    hurried: bool
    left_ms: float
    from_record: bool = False

    def __getitem__(self, name: str) -> Any:
        """What a node's keyword parameter of that name stands for."""
        match name:
            case "identity":
                return identity_of(self.runtime)
            case "access":
                return self._access()
            case "scope":
                return self._scope()
            case "seconds" | "left_ms":
                return getattr(self, name)
            case "graph":
                return self._graph()
            case "today":
                return datetime.now(UTC).date()
            case "walks_record":
                return self._walks_record()
            case _:
                return getattr(self.services, name)

    def instead(self) -> Given | None:
        """The same with the record in place of the graph's copy, in the time that is left."""
        if self._walks_record() or self.runtime.context.on_graph_failure != "postgres":
            return None
        now = time.monotonic()
        left = self.left_ms / 1000 - (now - self.begun)
        return replace(
            self,
            begun=now,
            seconds=min(self.seconds, left),
            hurried=left < self.seconds,
            left_ms=left * 1000,
            from_record=True,
        )

    def _walks_record(self) -> bool:
        return self.from_record or self.services.graph is self.services.record

    def _graph(self) -> Any:
        if self.from_record:
            return self.services.record
        deadline = Deadline(self.begun + self.seconds, self.hurried)
        return GuardedGraph(self.services.graph, self.services.graph_breaker, deadline)

    def _access(self) -> Access:
        """What may be seen. Asked anew in each step, so that an edited state cannot widen it."""
        state = self.state
        asked = state["request"]["namespaces"] if "request" in state else [state["target"]]
        return identity_of(self.runtime).access(tuple(asked))

    def _scope(self) -> Scope | None:
        """Under what answers are kept and found again; none when they may not be."""
        if not self.runtime.context.caches:
            return None
        return scope_of(self._access(), self.state["request"]["versions"])


def identity_of(runtime: Runtime[Any]) -> Identity:
    """Who is asking: the server's authenticated user, else the in-process caller.

    A user's permissions are their groups, and `namespace:NAME` for each namespace they may enter,
    `namespace:*` for any.
    Nothing a client can put into a request, a configuration or a thread's state is looked at.
    """
    info = runtime.server_info
    return current_identity() if info is None else identity_of_user(info.user)


def identity_of_user(user: Any) -> Identity:
    """Whom the server's authentication made of a request; without one, nobody."""
    if user is None or not user.is_authenticated:
        return Identity()
    permissions = [str(p) for p in user.permissions or ()]
    principals = [str(user.identity), *(p for p in permissions if ":" not in p)]
    spaces = [p.removeprefix("namespace:") for p in permissions if p.startswith("namespace:")]
    return Identity(tuple(principals), None if "*" in spaces else tuple(spaces))
