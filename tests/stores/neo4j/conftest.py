"""Graphs of a test's own, in one server for all: NEO4J_URI's, or one that is started here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from clew.stores.neo4j.connection import Neo4jConnection, Neo4jTransaction
from clew.stores.neo4j.dialect import Dialect, Neo4j5, Neptune
from clew.stores.neo4j.graph import Neo4jGraphStore
from clew.stores.neo4j.projection import Neo4jProjection
from clew.tests.bolt_server import Target, random_prefix

DIALECTS: tuple[type[Dialect], ...] = (Neo4j5, Neptune)
LABELS = ("Entity", "Chunk", "Audience", "Document")


@dataclass(frozen=True)
class Graph:
    """One empty, prepared graph, under a label prefix of its own."""

    connection: Neo4jConnection

    @property
    def store(self) -> Neo4jGraphStore:
        return Neo4jGraphStore(self.connection)

    @property
    def projection(self) -> Neo4jProjection:
        return Neo4jProjection(self.connection)

    async def clear(self) -> None:
        """Take out everything under the prefix."""

        async def work(transaction: Neo4jTransaction) -> None:
            for label in LABELS:
                await transaction.run(f"MATCH (n:{label}) DETACH DELETE n", {})

        await self.connection.write(work)


@pytest.fixture
async def open_graph(target: Target) -> AsyncIterator[Callable[..., Any]]:
    """Open graphs by dialect; they are emptied and closed afterwards."""
    async with AsyncExitStack() as stack:

        async def opened(kind: type[Dialect] = Neo4j5, prefix: str | None = None) -> Graph:
            dialect = kind(random_prefix() if prefix is None else prefix)
            graph = Graph(target.connection(dialect))
            stack.push_async_callback(graph.connection.close)
            stack.push_async_callback(_drop, graph)
            await graph.projection.prepare()
            return graph

        yield opened


@pytest.fixture(params=DIALECTS, ids=lambda kind: kind.__name__)
async def graph(request: pytest.FixtureRequest, open_graph: Callable[..., Any]) -> Graph:
    """An empty graph; each test runs once for each dialect."""
    opened: Graph = await open_graph(request.param)
    return opened


async def _drop(graph: Graph) -> None:
    await graph.clear()
    for statement in graph.connection.dialect.schema:
        _, kind, name, *_ = statement.split()

        async def work(transaction: Neo4jTransaction, drop: str = f"{kind} {name}") -> None:
            await transaction.run(f"DROP {drop} IF EXISTS", {})

        await graph.connection.write(work)
