"""Preparing a database, and saying what is wrong with one."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from clew import services
from clew.models.embeddings import SentenceEmbedder, unpack
from clew.models.names import normalise
from clew.services import open_services
from clew.settings import Settings
from clew.stores.errors import InvalidInput, StoreMisconfigured, StoreTimeout, StoreUnavailable
from clew.stores.postgres import schema
from clew.stores.postgres.database import Database
from clew.stores.postgres.documents import PostgresDocumentStore
from clew.stores.prepared import Preparer

from . import drafts
from .conftest import Stores
from .drafts import document, reader

MODEL, DIMENSION = "some-model", 8
NOWHERE = "postgresql://127.0.0.1:1/clew"


async def execute(dsn: str, *statements: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            await connection.execute(statement.encode())


async def migrated(dsn: str) -> list[int]:
    return await schema.migrate(dsn, model=MODEL, dimension=DIMENSION)


def replaced(place: str, text: str, *, keep: bool = True) -> str:
    """Put text in front of what a file holds, or in its place; returns what it held."""
    before = Path(place).read_text()
    Path(place).write_text(text + (before if keep else ""))
    return before


def one_sentence(error: pytest.ExceptionInfo[BaseException], *parts: str) -> None:
    said = str(error.value)
    assert said.endswith(".")
    assert "\n" not in said
    for part in parts:
        assert part in said


@pytest.fixture
async def guest(server: str) -> AsyncIterator[str]:
    """A role that may log in and nothing more. Ask for it before the database it is let into."""
    await execute(server, "create role guest login")
    yield "guest"
    await execute(server, "drop role guest")


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, embedder: SentenceEmbedder) -> None:
    """The encoder that is in memory already, for services that will not be opened."""

    async def same(_: Settings) -> SentenceEmbedder:
        return embedder

    monkeypatch.setattr(services, "_embedder", same)


async def test_a_second_migration_finds_nothing_to_do(empty_dsn: str) -> None:
    before = await schema.inspect(empty_dsn)
    assert (before.version, before.model, before.dimension) == (0, None, None)
    assert await migrated(empty_dsn) == list(range(1, schema.LATEST + 1))
    await execute(empty_dsn, "insert into clew.namespaces (name, language) values ('a', 'simple')")
    assert await migrated(empty_dsn) == []
    state = await schema.inspect(empty_dsn)
    assert (state.version, state.model, state.dimension) == (schema.LATEST, MODEL, DIMENSION)
    assert state.pgvector
    schema.check(state, model=MODEL, dimension=DIMENSION)
    assert [one["namespace"] for one in await schema.namespaces(empty_dsn)] == ["a"]


async def test_of_migrations_at_once_one_does_the_work(empty_dsn: str) -> None:
    done = await asyncio.gather(*(migrated(empty_dsn) for _ in range(5)))
    assert sorted(done) == [[]] * 4 + [list(range(1, schema.LATEST + 1))]


async def test_a_migration_that_fails_leaves_the_database_unprepared(empty_dsn: str) -> None:
    with pytest.raises(InvalidInput, match="4000 dimensions"):
        await schema.migrate(empty_dsn, model="too long", dimension=5000)
    assert (await schema.inspect(empty_dsn)).version == 0
    assert await migrated(empty_dsn) == list(range(1, schema.LATEST + 1))


WRONG: dict[str, tuple[str, tuple[str, ...]]] = {
    "prepared by a newer Clew": (
        f"insert into clew.migrations values ({schema.LATEST + 1}, 'some-model', 8)",
        (f"schema {schema.LATEST + 1}", "upgrade Clew"),
    ),
    "another model": (
        "update clew.migrations set model = 'other-model'",
        ("other-model", "CLEW_EMBEDDING_MODEL=other-model"),
    ),
    "another dimension": ("update clew.migrations set dimension = 7", ("(7 dimensions)",)),
    "prepared and emptied": ("delete from clew.migrations", ("clew migrate",)),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_database_that_does_not_fit_says_why(
    dsn: str, embedder: SentenceEmbedder, loaded: None, wrong: str
) -> None:
    statement, parts = WRONG[wrong]
    await execute(dsn, statement)
    with pytest.raises(StoreMisconfigured) as error:
        schema.check(await schema.inspect(dsn), model=embedder.name, dimension=embedder.dimension)
    one_sentence(error, *parts)
    with pytest.raises(StoreMisconfigured) as again:
        await open_services(Settings(database_url=dsn))
    assert str(again.value) == str(error.value)


async def test_an_unprepared_database_is_not_prepared_by_opening_it(
    empty_dsn: str, loaded: None
) -> None:
    with pytest.raises(StoreMisconfigured) as error:
        await open_services(Settings(database_url=empty_dsn))
    one_sentence(error, "run `clew migrate`")
    with pytest.raises(StoreMisconfigured) as error:
        await schema.namespaces(empty_dsn)
    one_sentence(error, "run `clew migrate`")
    stores = Stores.on(empty_dsn)
    with pytest.raises(StoreMisconfigured) as error:
        await stores.entities.stats(access=reader())
    await stores.database.close()
    one_sentence(error, "run `clew migrate`")
    assert (await schema.inspect(empty_dsn)).version == 0


async def test_an_older_schema_says_to_migrate(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "LATEST", schema.LATEST + 1)
    with pytest.raises(StoreMisconfigured, match="run `clew migrate`"):
        schema.check(await schema.inspect(dsn), model=MODEL, dimension=DIMENSION)


async def test_who_may_not_prepare_a_database_is_told_what_to_be_granted(
    guest: str, empty_dsn: str
) -> None:
    dsn = make_conninfo(empty_dsn, user=guest)
    with pytest.raises(StoreMisconfigured) as error:
        await migrated(dsn)
    one_sentence(error, "create extension vector")
    await execute(empty_dsn, "create extension vector")
    with pytest.raises(StoreMisconfigured) as error:
        await migrated(dsn)
    one_sentence(error, "schema clew", "CREATE")
    await execute(empty_dsn, "create schema clew")
    with pytest.raises(StoreMisconfigured) as error:
        await migrated(dsn)
    one_sentence(error, "schema clew")
    await execute(empty_dsn, "drop schema clew")
    name = sql.Identifier(str(psycopg.conninfo.conninfo_to_dict(empty_dsn)["dbname"]))
    grant = sql.SQL("grant create on database {} to guest").format(name)
    await execute(empty_dsn, grant.as_string())
    assert await migrated(dsn) == list(range(1, schema.LATEST + 1))


async def test_who_may_not_read_a_prepared_database_is_told_so(guest: str, dsn: str) -> None:
    closed = make_conninfo(dsn, user=guest)
    with pytest.raises(StoreMisconfigured) as error:
        await schema.inspect(closed)
    one_sentence(error, "permission denied for schema clew")
    await execute(dsn, "grant usage on schema clew to guest")
    stores = Stores.on(closed)
    with pytest.raises(StoreMisconfigured) as error:
        await stores.entities.stats(access=reader())
    await stores.database.close()
    one_sentence(error, "permission denied for table namespaces")


@pytest.mark.parametrize("ask", [schema.inspect, schema.namespaces, migrated])
async def test_a_database_that_is_down_is_unavailable(ask: Callable[..., object]) -> None:
    with pytest.raises(StoreUnavailable) as error:
        await ask(NOWHERE)  # type: ignore[misc]
    one_sentence(error, "does not answer", "CLEW_DATABASE_URL")


async def test_services_on_a_database_that_is_down_are_unavailable(loaded: None) -> None:
    with pytest.raises(StoreUnavailable, match="does not answer"):
        await open_services(Settings(database_url=NOWHERE))
    database = Database(NOWHERE, pool_size=1, pool_timeout=0.1, ef_search=40)
    with pytest.raises(StoreUnavailable) as error:
        await database.fetch("select 1", {})
    await database.close()
    one_sentence(error, "CLEW_POOL_SIZE")


async def test_a_refused_password_is_a_matter_of_configuration(
    guest: str, server: str, empty_dsn: str
) -> None:
    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as connection:
        cursor = await connection.execute("show hba_file")
        (place,) = await cursor.fetchone() or ("",)
    before = replaced(place, "local all guest scram-sha-256\n")
    await execute(server, "alter role guest password 'right'")
    try:
        await execute(server, "select pg_reload_conf()")
        deadline = time.monotonic() + 20
        wrong = make_conninfo(empty_dsn, user=guest, password="wrong")
        for dsn in (wrong, make_conninfo(empty_dsn, user=guest)):
            refused = None
            while refused is None and time.monotonic() < deadline:
                try:
                    await schema.inspect(dsn)
                    await asyncio.sleep(0.05)
                except StoreMisconfigured as error:
                    refused = str(error)
            assert refused is not None
            assert re.fullmatch(r"The database refused the login \(.*\); .*\.", refused)
        right = make_conninfo(empty_dsn, user=guest, password="right")
        assert (await schema.inspect(right)).version == 0
    finally:
        replaced(place, before, keep=False)
        await execute(server, "select pg_reload_conf()")


async def test_a_language_that_is_not_installed_is_a_matter_of_configuration(dsn: str) -> None:
    database = Database(dsn, pool_size=1, pool_timeout=9, ef_search=40)
    preparer = Preparer(normalise=normalise, unpack=unpack, dimension=drafts.DIMENSION)
    store = PostgresDocumentStore(database, language="klingon", preparer=preparer)
    with pytest.raises(StoreMisconfigured) as error:
        await store.write([document("one", "x")], access=reader())
    await database.close()
    one_sentence(error, "klingon", "CLEW_LANGUAGE")


async def test_connections_that_were_cut_are_made_anew(stores: Stores, dsn: str) -> None:
    await stores.rows("select 1")
    await execute(
        dsn,
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where application_name = 'clew' and datname = current_database()",
    )
    for key in "abcdef":  # more than the pool has connections
        await stores.write(document(key, "x"))


async def test_a_query_that_takes_too_long_is_not_asked_again(dsn: str) -> None:
    await execute(dsn, "create sequence public.asked")
    hasty = make_conninfo(dsn, options="-c statement_timeout=100")
    database = Database(hasty, pool_size=1, pool_timeout=9, ef_search=40)
    with pytest.raises(StoreTimeout) as error:
        await database.fetch("select nextval('public.asked'), pg_sleep(60)", {})
    one_sentence(error, "in time")
    # A sequence counts even what is rolled back.
    assert await database.fetch("select last_value as n from public.asked", {}) == [{"n": 1}]
    await database.close()
