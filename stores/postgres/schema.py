"""Preparing a database: numbered migrations under a lock, and the check that it fits the models."""

from __future__ import annotations

import re
from importlib import resources
from typing import NamedTuple, cast

from psycopg import AsyncConnection, errors
from psycopg.rows import TupleRow, dict_row

from ..errors import StoreMisconfigured
from ..records import NamespaceStats
from .database import translated

__all__ = ["LATEST", "Prepared", "check", "inspect", "migrate", "namespaces"]

LOCK = 0x436C6577
"""Key of the advisory lock: two processes may migrate at once, one waits for the other."""

OLDEST_SERVER = 160_000
OLDEST_PGVECTOR = [0, 8]


class Prepared(NamedTuple):
    """What a database was prepared for. `version` 0: not at all."""

    server: str
    pgvector: str | None
    version: int
    model: str | None
    dimension: int | None


def _migrations() -> dict[int, str]:
    folder = resources.files(__package__) / "migrations"
    found = {
        int(match[1]): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if (match := re.fullmatch(r"(\d{4})_\w+\.sql", entry.name))
    }
    return dict(sorted(found.items()))


LATEST = max(_migrations())


async def migrate(dsn: str, *, model: str, dimension: int) -> list[int]:
    """Apply the migrations that are missing, each in its transaction; returns their numbers.

    The first fixes the embedding model and its dimension. Raises `StoreMisconfigured` and
    `StoreUnavailable`.
    """
    with translated():
        async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
            await connection.execute("select pg_advisory_lock(%s)", [LOCK])
            await _require_server(connection)
            state = await _inspect(connection)
            if state.version == 0:
                await _prepare(connection)
            done = []
            for number, script in _migrations().items():
                if number <= state.version:
                    continue
                async with connection.transaction():
                    await connection.execute("set local search_path = clew, public")
                    sql = script.replace("{dimension}", str(dimension))
                    await connection.execute(sql.encode())
                    await connection.execute(
                        "insert into migrations (version, model, dimension) values (%s, %s, %s)",
                        [number, model, dimension],
                    )
                done.append(number)
            return done


async def inspect(dsn: str) -> Prepared:
    """What the database says of itself. Raises `StoreUnavailable` when it says nothing."""
    with translated():
        async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
            return await _inspect(connection)


def check(state: Prepared, *, model: str, dimension: int) -> None:
    """Refuse a database that cannot be used as it stands. Raises `StoreMisconfigured`."""
    if state.version == 0:
        raise StoreMisconfigured("The database has no Clew tables yet; run `clew migrate`.")
    if state.version < LATEST:
        raise StoreMisconfigured(
            f"The database is at schema {state.version} and this Clew needs {LATEST}; "
            "run `clew migrate`."
        )
    if state.version > LATEST:
        raise StoreMisconfigured(
            f"The database is at schema {state.version}, newer than this Clew knows ({LATEST}); "
            "upgrade Clew."
        )
    if state.dimension != dimension or state.model != model:
        raise StoreMisconfigured(
            f"The database holds vectors of {state.model} ({state.dimension} dimensions) but the "
            f"configured model is {model} ({dimension}); set CLEW_EMBEDDING_MODEL={state.model}, "
            "or ingest into another database."
        )


async def namespaces(dsn: str) -> list[NamespaceStats]:
    """Every namespace with its size, for whoever runs the database."""
    with translated():
        async with await AsyncConnection.connect(dsn, row_factory=dict_row) as connection:
            cursor = await connection.execute(
                "select name as namespace, version, documents, chunks, entities, relationships"
                " from clew.namespaces order by name"
            )
            return cast("list[NamespaceStats]", await cursor.fetchall())


async def _inspect(connection: AsyncConnection[TupleRow]) -> Prepared:
    cursor = await connection.execute(
        "select current_setting('server_version'),"
        " (select extversion from pg_extension where extname = 'vector'),"
        " to_regclass('clew.migrations') is not null"
    )
    row = await cursor.fetchone()
    assert row is not None
    server, pgvector, prepared = row
    if not prepared:
        return Prepared(server, pgvector, 0, None, None)
    cursor = await connection.execute(
        "select version, model, dimension from clew.migrations order by version desc limit 1"
    )
    last = await cursor.fetchone()
    return Prepared(server, pgvector, *(last or (0, None, None)))


async def _require_server(connection: AsyncConnection[TupleRow]) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise StoreMisconfigured(
            f"The server runs PostgreSQL {connection.info.server_version // 10_000}; "
            "Clew needs 16 or later."
        )
    try:
        await connection.execute("create extension if not exists vector")
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StoreMisconfigured(
            "The server has no pgvector; install the package for its PostgreSQL version "
            "(for instance postgresql-16-pgvector) and try again."
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreMisconfigured(
            "This database user may not create the vector extension; have an administrator run "
            "`create extension vector` in this database."
        ) from error
    cursor = await connection.execute(
        "select extversion, string_to_array(extversion, '.')::int[] >= %s::int[]"
        " from pg_extension where extname = 'vector'",
        [OLDEST_PGVECTOR],
    )
    found = await cursor.fetchone()
    if found is not None and not found[1]:
        raise StoreMisconfigured(
            f"This database has pgvector {found[0]} and Clew needs 0.8 or later, which keeps a "
            "filtered search from losing rows; install it and run `alter extension vector update`."
        )


async def _prepare(connection: AsyncConnection[TupleRow]) -> None:
    try:
        await connection.execute("create schema if not exists clew")
    except errors.InsufficientPrivilege as error:
        raise StoreMisconfigured(
            "This database user may not create the schema clew; grant it CREATE on the database."
        ) from error
    await connection.execute(
        "create table if not exists clew.migrations ("
        " version int primary key, model text not null, dimension int not null,"
        " applied_at timestamptz not null default now())"
    )
