"""Real parts for every test: one embedded PostgreSQL, one encoder, a fresh database each time."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from clew.models.embeddings import SentenceEmbedder
from clew.services import Services, open_services
from clew.settings import BUNDLED_MODEL, Settings
from clew.stores.postgres import schema
from clew.stores.postgres.embedded import EmbeddedPostgres
from clew.tests.bolt_server import Target, bolt_server

OpenTestServices = Callable[..., Awaitable[Services]]

TEMPLATE = "clew_template"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
async def embedder() -> AsyncIterator[SentenceEmbedder]:
    """The bundled encoder, loaded once."""
    model = await SentenceEmbedder.open(BUNDLED_MODEL, batch=32)
    yield model
    model.close()


@pytest.fixture(scope="session")
async def server() -> AsyncIterator[str]:
    """The DSN of an embedded server that lives as long as the tests."""
    # Not pytest's own folder: as root the server runs as a user that may not enter that one.
    folder = _open_folder()
    postgres = EmbeddedPostgres(folder / "data")
    yield await postgres.start()
    await postgres.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
async def template(server: str, embedder: SentenceEmbedder) -> str:
    """A migrated database, to be copied; returns the server's DSN."""
    await _execute(server, sql.SQL("create database {}").format(sql.Identifier(TEMPLATE)))
    await schema.migrate(_on(server, TEMPLATE), model=embedder.name, dimension=embedder.dimension)
    return server


@pytest.fixture(scope="session")
async def target() -> AsyncIterator[Target]:
    """The server that all tests share."""
    uri = os.environ.get("NEO4J_URI")
    if uri:
        auth = (os.environ.get("NEO4J_USER", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
        yield Target(uri, auth, os.environ.get("NEO4J_DATABASE"), None)
        return
    async with bolt_server() as server:
        yield Target(server.uri, (server.user, server.password), server.database, server)


@pytest.fixture
async def empty_dsn(server: str) -> AsyncIterator[str]:
    """A database in which nothing has been prepared."""
    async for dsn in _database(server, "template1"):
        yield dsn


@pytest.fixture
async def dsn(template: str) -> AsyncIterator[str]:
    """A migrated, empty database of the test's own."""
    async for dsn in _database(template, TEMPLATE):
        yield dsn


@pytest.fixture
async def open_test_services(dsn: str) -> AsyncIterator[OpenTestServices]:
    """Open services on the test's database with any settings; they are closed afterwards."""
    async with AsyncExitStack() as stack:

        async def opened(**settings: Any) -> Services:
            configured = Settings(database_url=SecretStr(dsn), **settings)
            services = await open_services(configured)
            stack.push_async_callback(services.close)
            return services

        yield opened


@pytest.fixture
async def services(open_test_services: OpenTestServices) -> Services:
    """Services with default settings on the test's own database."""
    return await open_test_services()


async def _database(server: str, template: str) -> AsyncIterator[str]:
    name = f"clew_test_{next(_numbers)}"
    identifiers = {"name": sql.Identifier(name), "template": sql.Identifier(template)}
    await _execute(
        server, sql.SQL("create database {name} template {template}").format(**identifiers)
    )
    yield _on(server, name)
    await _execute(server, sql.SQL("drop database {name} with (force)").format(**identifiers))


def _open_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="clew-tests-"))
    folder.chmod(0o755)
    return folder


async def _execute(dsn: str, statement: sql.Composed) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(statement)


def _on(dsn: str, database: str) -> str:
    return make_conninfo("", **{**conninfo_to_dict(dsn), "dbname": database})
