"""Every test of this folder runs once on each implementation that it is about."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from clew.tests.bolt_server import Target

from . import backends
from .backends import Backend

RECORDS = ["memory", "postgres"]
"""What implements every protocol."""
GRAPHS = [*RECORDS, "neo4j"]
"""What implements the walk; the rest of it is the record that it is a copy of."""


@pytest.fixture(params=RECORDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every protocol, on an empty record of the test's own."""
    return _opened(request)


@pytest.fixture(params=GRAPHS)
def graph_backend(request: pytest.FixtureRequest) -> Backend:
    """The same for what only asks the graph: what was written must be settled first."""
    return _opened(request)


@pytest.fixture
async def memory_backend() -> Backend:
    return backends.memory_backend()


@pytest.fixture
async def postgres_backend(dsn: str) -> AsyncIterator[Backend]:
    async with backends.postgres_backend(dsn) as backend:
        yield backend


@pytest.fixture
async def neo4j_backend(dsn: str, target: Target) -> AsyncIterator[Backend]:
    async with backends.neo4j_backend(dsn, target) as backend:
        yield backend


def _opened(request: pytest.FixtureRequest) -> Backend:
    # Asked for by name, since a test on memory must not wait for a database.
    found: Backend = request.getfixturevalue(f"{request.param}_backend")
    return found
