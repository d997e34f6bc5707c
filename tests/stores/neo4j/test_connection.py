"""Connections: what is tried again, what is told at once, and what is never opened."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from neo4j import basic_auth
from neo4j.exceptions import ClientError, SessionExpired, TransientError

from clew.stores.errors import StoreError, StoreMisconfigured, StoreUnavailable
from clew.stores.neo4j.connection import ATTEMPTS, Neo4jConnection, Neo4jTransaction
from clew.stores.neo4j.dialect import Neo4j5
from clew.stores.neo4j.graph import Neo4jGraphStore
from clew.tests.bolt_server import Target
from clew.tests.wires import within


async def _skip_without_auth(connection: Neo4jConnection) -> None:
    with suppress(StoreMisconfigured):
        await Neo4jGraphStore(connection).healthy()
        pytest.skip("the server lets anybody in")


@pytest.mark.parametrize("failure", [SessionExpired("gone"), TransientError("deadlock")])
async def test_what_passes_is_tried_three_times_and_no_more(
    target: Target, failure: Exception
) -> None:
    connection = target.connection(Neo4j5())
    calls = 0

    async def failing(transaction: Neo4jTransaction) -> int:
        nonlocal calls
        calls += 1
        if calls % ATTEMPTS:
            raise failure
        return calls

    assert await connection.read(failing) == ATTEMPTS
    assert await connection.write(failing) == 2 * ATTEMPTS

    async def hopeless(transaction: Neo4jTransaction) -> None:
        nonlocal calls
        calls += 1
        raise failure

    calls = 0
    with pytest.raises(StoreUnavailable):
        await connection.read(hopeless)
    assert calls == ATTEMPTS
    await connection.close()


async def test_a_mistake_of_ours_is_told_as_it_is_and_not_repeated(target: Target) -> None:
    connection = target.connection(Neo4j5())
    calls = 0

    async def nonsense(transaction: Neo4jTransaction) -> None:
        nonlocal calls
        calls += 1
        await transaction.run("RETURN nonsense(", {})

    with pytest.raises(ClientError):
        await connection.read(nonsense)
    assert calls == 1
    await connection.close()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"auth": ("root", "wrong")}, "refused the login"),
        ({"auth": basic_auth("nobody", "wrong")}, "refused the login"),
        ({"auth": None}, "refused the login"),
        ({"database": "missing"}, "no such database"),
        ({"uri": "ftp://127.0.0.1"}, "cannot be used as configured"),
    ],
)
async def test_what_is_configured_wrongly_is_told_and_not_tried_again(
    target: Target, changed: dict[str, Any], said: str
) -> None:
    connection = target.connection(Neo4j5(), **changed)
    if "auth" in changed and target.server is None:
        await _skip_without_auth(connection)
    with within(5), pytest.raises(StoreMisconfigured, match=said) as told:
        await Neo4jGraphStore(connection).healthy()
    assert "wrong" not in str(told.value)
    await connection.close()


@pytest.mark.parametrize(
    "uri", ["bolt://127.0.0.1:1", "bolt://no-such-host.invalid", "bolt+s://127.0.0.1:1"]
)
async def test_nothing_is_opened_before_the_first_call(uri: str) -> None:
    connection = Neo4jConnection(uri, dialect=Neo4j5(), seconds=5.0)
    await connection.close()
    with pytest.raises(StoreUnavailable, match="does not answer"):
        await Neo4jGraphStore(connection).healthy()
    await connection.close()


async def test_a_password_in_the_address_is_not_repeated() -> None:
    connection = Neo4jConnection("bolt://ada:secret@127.0.0.1:1", dialect=Neo4j5())
    with pytest.raises(StoreError) as told:
        await Neo4jGraphStore(connection).healthy()
    assert "secret" not in str(told.value)
    await connection.close()


async def test_each_event_loop_has_connections_of_its_own(target: Target) -> None:
    connection = target.connection(Neo4j5())
    await Neo4jGraphStore(connection).healthy()

    async def elsewhere() -> None:
        await Neo4jGraphStore(connection).healthy()
        await connection.close()

    await asyncio.to_thread(asyncio.run, elsewhere())
    await Neo4jGraphStore(connection).healthy()
    await connection.close()
    await Neo4jGraphStore(connection).healthy()
    await connection.close()


@pytest.mark.parametrize(("pool_size", "seconds"), [(0, 1.0), (1, 0.0), (1, -1.0)])
def test_sizes_that_cannot_be_are_refused(pool_size: int, seconds: float) -> None:
    with pytest.raises(ValueError, match="pool_size"):
        Neo4jConnection("bolt://x", dialect=Neo4j5(), pool_size=pool_size, seconds=seconds)
