"""The graph database: every fault, and the answer that comes from what remains."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from langgraph.runtime import Runtime
from pydantic import SecretStr

from clew.context import RetrievalContext
from clew.graph.guarded import Deadline, GuardedGraph
from clew.graph.steps import Step
from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.state import RetrievalState
from clew.stores.breaker import Breaker
from clew.stores.errors import StoreUnavailable
from clew.stores.neo4j.connection import Neo4jConnection, Neo4jTransaction
from clew.stores.neo4j.dialect import Neo4j5
from clew.stores.neo4j.graph import Neo4jGraphStore
from clew.stores.protocols import GraphStore
from clew.tests.bolt_server import Target, random_prefix
from clew.tests.graph.scene import giving, world
from clew.tests.models.cross_encoder import Clock
from clew.tests.timing import best_of_three
from clew.tests.wires import ON_THE_WIRE, Proxy, proxied

from .runs import asking

LATE = "did not finish within its time"
GONE = f"does not answer|{LATE}"  # three attempts may take longer than the step has
FAULTS = {
    "refused": GONE,
    "reset": GONE,
    "blackholed": LATE,
    "frozen": LATE,
    "slow": LATE,
    "cut mid-answer": GONE,
    "malformed": GONE,
    "wrong password": "refused the login",
    "pool exhausted": LATE,
}
"""Each fault, and why then nothing was walked."""


@dataclass(frozen=True)
class Line:
    """Services that walk a copy of the graph behind a proxy."""

    services: Services
    proxy: Proxy
    target: Target
    prefix: str

    def guarded(self, clock: Clock, **changed: Any) -> Services:
        """The same with a breaker of its own, on the clock given."""
        breaker = Breaker("graph database", failures=(StoreUnavailable, TimeoutError), clock=clock)
        return replace(self.services, graph_breaker=breaker, **changed)

    def connection(self, **changed: Any) -> Neo4jConnection:
        uri = f"bolt://127.0.0.1:{self.proxy.port}"
        return self.target.connection(Neo4j5(self.prefix), **{"uri": uri, **changed})


@pytest.fixture(scope="module")
async def line(target: Target, template: str, embedder: SentenceEmbedder) -> AsyncIterator[Line]:
    address, prefix = urlsplit(target.uri), random_prefix()
    async with proxied((address.hostname or "", address.port or 7687)) as proxy:
        settings: dict[str, Any] = {
            "neo4j_uri": f"bolt://127.0.0.1:{proxy.port}",
            "neo4j_user": target.auth[0],
            "neo4j_password": SecretStr(target.auth[1]),
            "neo4j_database": target.database,
            "graph_label_prefix": prefix,
        }
        async with world(template, graph_store="neo4j", **settings) as services:
            yield Line(services, proxy, target, prefix)


@asynccontextmanager
async def broken(line: Line, fault: str) -> AsyncIterator[GraphStore]:
    """The graph under a fault, which is over at the end."""
    match fault:
        case _ if fault in ON_THE_WIRE:
            line.proxy.fault = ON_THE_WIRE[fault]
        case "slow":
            line.proxy.latency = 2.0
        case "frozen":
            line.target.ours.pause()
    try:
        if fault == "wrong password":
            async with closing(line.connection(auth=(line.target.auth[0], "wrong"))) as refused:
                yield Neo4jGraphStore(refused)
        elif fault == "pool exhausted":
            async with closing(line.connection(pool_size=1)) as small, held(small):
                yield Neo4jGraphStore(small)
        else:
            yield line.services.graph
    finally:
        line.proxy.fault, line.proxy.latency = "none", 0.0
        if fault == "frozen":
            line.target.ours.resume()


@asynccontextmanager
async def closing(connection: Neo4jConnection) -> AsyncIterator[Neo4jConnection]:
    yield connection
    await connection.close()


@asynccontextmanager
async def held(connection: Neo4jConnection) -> AsyncIterator[None]:
    """Somebody else has the only connection."""
    begun = asyncio.Event()

    async def hold(transaction: Neo4jTransaction) -> None:
        await transaction.run("RETURN 1", {})
        begun.set()
        await asyncio.Event().wait()

    holding = asyncio.create_task(connection.read(hold))
    await begun.wait()
    yield
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)


@pytest.mark.parametrize("fault", FAULTS)
@best_of_three
async def test_the_answer_comes_from_what_remains(line: Line, fault: str) -> None:
    """Within the budget and saying so; three failures open the circuit, one trial closes it."""
    clock = Clock()
    services = line.guarded(clock)
    breaker = services.graph_breaker
    whole = await asking(services)()
    assert (whole.mode, whole.lost) == ("hybrid", {})
    async with broken(line, fault) as graph:
        ask = asking(replace(services, graph=graph))
        for _ in range(3):
            without = await ask()
            assert without.found, "search alone answers"
            assert "expand_graph" in without.failed
            if breaker.state == "open":
                break
        assert breaker.changes == {"open": 1}
        shut = await ask()
        assert (shut.mode, shut.lost) == ("search_only", {})
        assert shut.found == without.found
    clock.now += 30
    again = await asking(services)()
    assert (again.found, again.lost) == (whole.found, {})
    assert breaker.changes == {"open": 1, "half_open": 1, "closed": 1}


@pytest.mark.parametrize("fault", ["refused", "frozen", "wrong password"])
@best_of_three
async def test_the_record_is_walked_instead_when_the_caller_wants_that(
    line: Line, fault: str
) -> None:
    """Then nothing is missing but the copy, with its circuit closed and open."""
    services = line.guarded(Clock())
    whole = await asking(services)()
    async with broken(line, fault) as graph:
        ask = asking(replace(services, graph=graph), on_graph_failure="postgres", graph_ms=150)
        for _ in range(3):
            instead = await ask()
            assert (instead.mode, instead.found, instead.failed) == ("hybrid", whole.found, set())
            assert "expand_graph" in instead.lost
        assert services.graph_breaker.state == "open"


class Leaving:
    """A graph that needs a while to take its leave: it tells the server, and tidies up."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def healthy(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await asyncio.sleep(0.1)
            finally:
                await asyncio.sleep(0)
                self.left.set()


async def test_whoever_is_left_behind_may_take_its_leave() -> None:
    """Or connections would stay taken; and the caller hears of the time, of nothing else."""
    leaving: Any = Leaving()
    breaker = Breaker("graph database", failures=(TimeoutError,))
    guarded = GuardedGraph(leaving, breaker, Deadline(time.monotonic() + 0.05, hurried=False))
    with pytest.raises(TimeoutError):
        await guarded.healthy()
    async with asyncio.timeout(5):
        await leaving.left.wait()


async def test_a_busy_loop_hides_no_failure_from_the_breaker(line: Line) -> None:
    """The call is given up, and counted, before its step is cut off, though both are due."""

    async def walk(state: RetrievalState, *, graph: GraphStore) -> RetrievalState:
        await graph.healthy()
        return {}

    breaker = Breaker("graph database", failures=(TimeoutError,), threshold=1)
    frozen: Any = Leaving()
    step = Step(walk, effect="nothing was walked", ceiling="graph_ms").bind(
        giving(replace(line.services, graph=frozen, graph_breaker=breaker))
    )
    asyncio.get_running_loop().call_later(0.01, time.sleep, 0.2)
    update = await step({}, Runtime(context=RetrievalContext(graph_ms=50)))
    assert [entry["stage"] for entry in update["degraded"]] == ["walk"]
    assert breaker.changes == {"open": 1}
