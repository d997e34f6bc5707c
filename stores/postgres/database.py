"""Connections to one prepared database, and PostgreSQL's errors in Clew's words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Json
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)

from ..errors import InvalidInput, StoreMisconfigured, StoreTimeout, StoreUnavailable

__all__ = ["Connection", "Database", "translated"]

Connection = AsyncConnection[DictRow]
T = TypeVar("T")

ATTEMPTS = 3

# What a pool warns of is raised here as one sentence; it need not reach a terminal as well.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class Database:
    """A pool of connections, opened lazily, that belongs to the event loop it is used on."""

    def __init__(
        self,
        dsn: str,
        *,
        pool_size: int,
        pool_timeout: float,
        ef_search: int,
        revive: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._session = {
            "search_path": "clew, public",
            "hnsw.ef_search": str(ef_search),
            "hnsw.iterative_scan": "relaxed_order",
            "jit": "off",
            # What is asked often lies in memory, and disks that seek are gone.
            "random_page_cost": "1.1",
            # Planning a hop takes longer than walking it, and its plan does not depend on values.
            "plan_cache_mode": "force_generic_plan",
        }
        self._revive = revive
        self._opening = asyncio.Lock()
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            dsn,
            connection_class=AsyncConnection[DictRow],
            kwargs={
                "row_factory": dict_row,
                "autocommit": True,
                "application_name": "clew",
                "prepare_threshold": 1,
            },
            min_size=1,
            max_size=pool_size,
            timeout=pool_timeout,
            # Whoever asks next tries again at once. Left to itself the pool would wait twice as
            # long after each failure, and still for minutes when the database is back.
            reconnect_timeout=0.0,
            open=False,
            configure=self._configure,
            name="clew",
        )

    async def fetch(self, query: LiteralString, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All rows of one reading statement; what fails in passing is tried three times in all."""
        try:
            return await self._read(query, params)
        except StoreUnavailable as error:
            if not _transient(error):
                raise
        # Only now, since a retrying machine takes longer to set up than most statements to run.
        await self._renew()
        async for attempt in self._attempts(ATTEMPTS - 1):
            with attempt:
                return await self._read(query, params)
        raise AssertionError("tenacity either returns or raises")

    async def _read(self, query: LiteralString, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        async with self.connection() as connection:
            cursor = await connection.execute(query, params)
            return await cursor.fetchall()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A pooled connection in autocommit. Raises the tree of `stores.errors`."""
        with translated():
            if self._pool.closed:
                async with self._opening:
                    if self._pool.closed:
                        await self._pool.open()
            async with self._pool.connection() as connection:
                yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection inside one transaction: all of it lands, or nothing."""
        async with self.connection() as connection:
            with translated():
                async with connection.transaction():
                    yield connection

    async def transact(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Do `work` in a transaction; one that fails in passing is tried three times in all.

        `work` must bear to be done twice: a server that dies while committing does not say whether
        it has committed.
        """
        async for attempt in self._attempts(ATTEMPTS):
            with attempt:
                async with self.transaction() as connection:
                    return await work(connection)
        raise AssertionError("tenacity either returns or raises")

    def statistics(self) -> Mapping[str, int]:
        """Of the pool, by psycopg's names: `pool_size`, `pool_available`, `requests_waiting`, …"""
        return self._pool.get_stats()

    async def close(self) -> None:
        """Close every connection; the database cannot be used afterwards."""
        await self._pool.close()

    def _attempts(self, most: int) -> AsyncRetrying:
        return AsyncRetrying(
            stop=stop_after_attempt(most),
            wait=wait_exponential_jitter(multiplier=0.05, max=1.0, jitter=0.05),
            retry=retry_if_exception(_transient),
            before_sleep=self._renew,
            reraise=True,
        )

    async def _renew(self, _: object = None) -> None:
        """Before the next attempt a killed embedded server is started again, and what a restart
        left dead in the pool is replaced: asking every connection before every use would double the
        round trips of a question.
        """
        if self._revive is not None:
            await self._revive()
        if not self._pool.closed:
            await self._pool.check()

    async def _configure(self, connection: Connection) -> None:
        await connection.execute(
            "select set_config(key, value, false) from json_each_text(%s::json) as s (key, value)",
            [Json(self._session)],
        )


def _transient(error: BaseException) -> bool:
    # A deadline that has passed will not come back by asking again.
    return isinstance(error, StoreUnavailable) and not isinstance(error, StoreTimeout)


@contextmanager
def translated() -> Iterator[None]:
    """Turn what psycopg raises into Clew's errors; bugs in our SQL pass through as they are."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable(
            "No database connection became free in time; the database is down, or CLEW_POOL_SIZE "
            "is too small for the load."
        ) from error
    except errors.QueryCanceled as error:
        raise StoreTimeout("The database did not finish a query in time.") from error
    except (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedColumn) as error:
        raise StoreMisconfigured(
            f"The database is not prepared for this version of Clew ({_first_line(error)}); "
            "run `clew migrate`."
        ) from error
    except errors.UndefinedObject as error:
        raise StoreMisconfigured(
            f"The database lacks what Clew is configured for ({_first_line(error)}); check "
            "CLEW_LANGUAGE, and that pgvector is recent and in the schema public."
        ) from error
    except errors.InsufficientPrivilege as error:
        raise StoreMisconfigured(
            f"The database user lacks a right ({_first_line(error)}); have the owner of the schema "
            "clew grant it."
        ) from error
    except (
        errors.UntranslatableCharacter,
        errors.CharacterNotInRepertoire,
        UnicodeEncodeError,  # half of a surrogate pair, which JSON can smuggle in
    ) as error:
        raise InvalidInput(f"The database cannot store this text: {_first_line(error)}.") from error
    except (psycopg.DataError, psycopg.IntegrityError, errors.ProgramLimitExceeded) as error:
        raise InvalidInput(f"The database refused a value: {_first_line(error)}.") from error
    except (psycopg.Error, OSError) as error:
        if not _out_there(error):
            raise
        if _login_refused(error):
            raise StoreMisconfigured(
                f"The database refused the login ({_first_line(error)}); check CLEW_DATABASE_URL."
            ) from error
        raise StoreUnavailable(
            f"The database does not answer ({_first_line(error)}); check that it runs and that "
            "CLEW_DATABASE_URL names it."
        ) from error


def _out_there(error: BaseException) -> bool:
    """Whether it came of the server or the way to it. What the server sends when something garbles
    it is no more than a `DatabaseError`; a bug in our SQL is one of a kind.
    """
    passing = (psycopg.OperationalError, psycopg.InterfaceError, OSError)
    return isinstance(error, passing) or type(error) is psycopg.DatabaseError


def _login_refused(error: BaseException) -> bool:
    # A failed connection has no SQLSTATE, only what it knows of passwords.
    connection = error.pgconn if isinstance(error, psycopg.Error) else None
    return connection is not None and (connection.needs_password or connection.used_password)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0].rstrip(".")
