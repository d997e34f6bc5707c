"""The graph database as one step may use it: behind the breaker, within the step's time."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..stores.access import Access
from ..stores.breaker import Breaker, CircuitOpen
from ..stores.errors import StoreMisconfigured, StoreUnavailable
from ..stores.patience import within
from ..stores.protocols import GraphStore
from ..stores.records import Mention, ReachedEntity, Relationship
from ..stores.walk import Walk
from .resilience import OutOfTime

__all__ = ["Deadline", "GuardedGraph"]

T = TypeVar("T")


class Deadline(NamedTuple):
    """When a step must end, on `time.monotonic`; `hurried`: the run's time ends its own earlier."""

    at: float
    hurried: bool


class GuardedGraph:
    """A `GraphStore` whose every call asks the breaker for a permit and ends by the deadline.

    A call that is late counts as a failure, unless the run had less time left than the step would
    have had by itself; so does one that is refused for how the database is configured.
    """

    def __init__(self, graph: GraphStore, breaker: Breaker, deadline: Deadline) -> None:
        self._graph = graph
        self._breaker = breaker
        self._deadline = deadline

    async def expand(
        self, seeds: Mapping[int, float], *, walk: Walk, access: Access
    ) -> list[ReachedEntity]:
        """As the store's."""
        return await self._ask(self._graph.expand(seeds, walk=walk, access=access))

    async def mentions_of(
        self,
        weights: Mapping[int, float],
        *,
        limit: int,
        always: Sequence[int],
        access: Access,
    ) -> list[Mention]:
        """As the store's."""
        return await self._ask(
            self._graph.mentions_of(weights, limit=limit, always=always, access=access)
        )

    async def relationships_among(
        self, entities: Sequence[int], *, limit: int, access: Access
    ) -> list[Relationship]:
        """As the store's."""
        return await self._ask(
            self._graph.relationships_among(entities, limit=limit, access=access)
        )

    async def healthy(self) -> None:
        """As the store's."""
        await self._ask(self._graph.healthy())

    async def _ask(self, call: Coroutine[Any, Any, T]) -> T:
        try:
            async with self._breaker.call():
                try:
                    return await within(self._deadline.at - time.monotonic(), call)
                except TimeoutError as error:
                    if not self._deadline.hurried:
                        raise
                    raise OutOfTime("The run's time was over while the graph was asked.") from error
                except StoreMisconfigured as error:
                    # A password that was changed ends no question that search can answer.
                    raise StoreUnavailable(str(error)) from error
        except CircuitOpen:
            call.close()  # it was never awaited
            raise
