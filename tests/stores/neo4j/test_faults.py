"""Servers that are gone, slow, frozen or not ours, and how soon the caller hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from clew.stores.access import Access
from clew.stores.errors import StoreTimeout, StoreUnavailable
from clew.stores.neo4j.connection import ATTEMPTS, Neo4jConnection, Neo4jTransaction
from clew.stores.neo4j.dialect import Neo4j5
from clew.stores.neo4j.graph import Neo4jGraphStore
from clew.stores.neo4j.projection import Neo4jProjection
from clew.stores.walk import Walk
from clew.tests.bolt_server import Target
from clew.tests.wires import Proxy, proxied, within

from .conftest import Graph
from .scene import Scene, random_scene

SECONDS = 2.0
GRACE = 1.0
TRIES = 5
EVERYTHING = Access(("main", "other"), ("ada",))
OpenGraph = Callable[..., Awaitable[Graph]]


@dataclass(frozen=True)
class Line:
    """A graph with something in it, behind a proxy."""

    proxy: Proxy
    connection: Neo4jConnection
    scene: Scene

    async def walk(self) -> int:
        """How many entities a walk from everywhere brings."""
        store = Neo4jGraphStore(self.connection)
        seeds = {row["id"]: 1.0 for row in self.scene.entities}
        return len(await store.expand(seeds, walk=Walk(hops=2), access=EVERYTHING))

    async def recovers(self) -> None:
        """Fail unless a walk succeeds within a few tries; a loaded machine thaws slowly."""
        for _ in range(TRIES):
            with suppress(StoreTimeout):
                assert await self.walk()
                return
        raise AssertionError("the store does not recover")


@pytest.fixture
async def line(target: Target, open_graph: OpenGraph) -> AsyncIterator[Line]:
    graph = await open_graph()
    scene = random_scene(0)
    await scene.put(graph.projection)
    address = urlsplit(target.uri)
    async with proxied((address.hostname or "", address.port or 7687)) as proxy:
        connection = target.connection(
            graph.connection.dialect, uri=f"bolt://127.0.0.1:{proxy.port}", seconds=SECONDS
        )
        line = Line(proxy, connection, scene)
        await line.recovers()
        yield line
        await connection.close()


async def test_a_refused_connection_is_a_store_that_is_not_available(line: Line) -> None:
    line.proxy.fault = "refuse"
    with within(SECONDS + GRACE), pytest.raises(StoreUnavailable) as told:
        await line.walk()
    assert not isinstance(told.value, StoreTimeout)
    assert str(told.value).endswith(".")
    line.proxy.fault = "none"
    await line.recovers()


async def test_a_connection_cut_in_an_answer_is_tried_again(line: Line) -> None:
    line.proxy.cuts, line.proxy.fault = ATTEMPTS - 1, "cut"
    assert await line.walk()
    assert line.proxy.cuts == 0


async def test_a_connection_that_is_always_cut_is_given_up_after_three_attempts(
    line: Line,
) -> None:
    before = line.proxy.opened
    line.proxy.fault = "cut"
    with within(SECONDS + GRACE), pytest.raises(StoreUnavailable) as told:
        await line.walk()
    assert not isinstance(told.value, StoreTimeout)
    assert line.proxy.opened - before <= ATTEMPTS
    line.proxy.fault = "none"
    await line.recovers()


async def test_silence_is_a_timeout_on_an_open_connection_and_on_a_new_one(line: Line) -> None:
    for _ in range(2):
        line.proxy.fault = "blackhole"
        with within(SECONDS + GRACE), pytest.raises(StoreTimeout, match="2 seconds"):
            await line.walk()
    line.proxy.fault = "none"
    await line.recovers()


async def test_a_slow_line_is_waited_for_until_the_time_is_over(line: Line) -> None:
    line.proxy.latency = 0.02
    assert await line.walk()
    line.proxy.latency = SECONDS
    with within(SECONDS + GRACE), pytest.raises(StoreTimeout):
        await line.walk()
    line.proxy.latency = 0.0
    await line.recovers()


async def test_a_frozen_server_is_a_timeout_and_used_again_when_it_thaws(
    line: Line, target: Target
) -> None:
    server = target.ours
    server.pause()
    try:
        for _ in range(2):
            with within(SECONDS + GRACE), pytest.raises(StoreTimeout):
                await line.walk()
        with within(SECONDS + GRACE), pytest.raises(StoreTimeout):
            await Neo4jGraphStore(line.connection).healthy()
    finally:
        server.resume()
    await line.recovers()


async def test_a_write_that_is_cut_lands_whole_or_not_at_all(line: Line) -> None:
    projection = Neo4jProjection(line.connection)
    line.proxy.cuts, line.proxy.fault = 1, "cut"
    await projection.put_documents(line.scene.documents)
    assert await projection.read("document", after=0, limit=100) == line.scene.documents
    line.proxy.cuts, line.proxy.fault = None, "cut"
    with pytest.raises(StoreUnavailable):
        await projection.put_documents(line.scene.documents[:1])
    line.proxy.fault = "none"
    assert await projection.read("document", after=0, limit=100) == line.scene.documents


async def test_a_caller_who_gives_up_leaves_a_pool_that_works(line: Line, target: Target) -> None:
    connection = target.connection(
        line.connection.dialect, uri=f"bolt://127.0.0.1:{line.proxy.port}", pool_size=1
    )
    small = Line(line.proxy, connection, line.scene)
    for _ in range(3):
        line.proxy.fault = "blackhole"
        asking = asyncio.create_task(small.walk())
        await asyncio.sleep(0.1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        line.proxy.fault = "none"
        assert await small.walk()
    await connection.close()


async def test_a_pool_that_is_too_small_is_told_from_a_server_that_is_down(
    target: Target,
) -> None:
    # Who waits gives up a tenth earlier than who holds.
    seconds = 3.0
    connection = target.connection(Neo4j5(), pool_size=1, seconds=seconds)
    held = asyncio.Event()

    async def hold(transaction: Neo4jTransaction) -> None:
        await transaction.run("RETURN 1", {})
        held.set()
        await asyncio.sleep(30)

    holding = asyncio.create_task(connection.read(hold))
    await held.wait()
    with (
        within(seconds + GRACE),
        pytest.raises(StoreUnavailable, match="its pool") as told,
    ):
        await Neo4jGraphStore(connection).healthy()
    assert not isinstance(told.value, StoreTimeout)
    with pytest.raises(StoreTimeout):
        await holding
    await Neo4jGraphStore(connection).healthy()
    await connection.close()
