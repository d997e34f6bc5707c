"""Sessions with one graph database over Bolt, and its errors in Clew's words."""

from __future__ import annotations

import asyncio
import logging
import re
import textwrap
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction, Auth
from neo4j.auth_management import AsyncAuthManager
from neo4j.exceptions import (
    AuthError,
    ClientError,
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    ConstraintError,
    DatabaseError,
    Forbidden,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential_jitter,
)

from ..errors import InvalidInput, StoreMisconfigured, StoreTimeout, StoreUnavailable
from .dialect import Dialect

__all__ = ["Neo4jConnection", "Neo4jTransaction", "translated"]

T = TypeVar("T")

ATTEMPTS = 3

# What the driver logs is raised here as one sentence; it need not reach a terminal as well.
logging.getLogger("neo4j").addHandler(logging.NullHandler())


class Neo4jTransaction:
    """One transaction: all that runs in it lands, or nothing."""

    def __init__(self, transaction: AsyncManagedTransaction, dialect: Dialect) -> None:
        self._transaction = transaction
        self._dialect = dialect

    async def run(self, statement: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All rows of one statement, in the order the server gives them."""
        # Rendering joins constants of this package and a checked prefix, never data.
        text = self._dialect.render(statement, params)
        result = await self._transaction.run(text, dict(params))
        return [record.data() async for record in result]


class Neo4jConnection:
    """A database over Bolt: one driver for each event loop, opened at its first call.

    `seconds` bounds every call as a whole, with waiting for a connection and further attempts; the
    driver itself would wait for a frozen server without end. `auth`: user and password, an `Auth`,
    a manager that renews it, or nothing. An address of `bolt+s` or `neo4j+s` is encrypted.
    """

    def __init__(
        self,
        uri: str,
        *,
        dialect: Dialect,
        auth: tuple[str, str] | Auth | AsyncAuthManager | None = None,
        database: str | None = None,
        pool_size: int = 10,
        seconds: float = 10.0,
    ) -> None:
        if pool_size < 1 or seconds <= 0:
            raise ValueError("pool_size must be at least 1 and seconds above 0")
        self.dialect = dialect
        self._uri = uri
        self._shown = _without_password(uri)
        self._auth = auth
        self._database = database
        self._pool_size = pool_size
        self._seconds = seconds
        self._drivers: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncDriver] = (
            WeakKeyDictionary()
        )

    async def read(self, work: Callable[[Neo4jTransaction], Awaitable[T]]) -> T:
        """Do `work` in a reading transaction. Raises the tree of `stores.errors`.

        What fails in passing is tried three times in all.
        """
        return await self._call("read", work)

    async def write(self, work: Callable[[Neo4jTransaction], Awaitable[T]]) -> T:
        """Do `work` in a writing transaction. Raises the tree of `stores.errors`.

        What fails in passing is tried three times in all. `work` must bear to be done twice: a
        server that dies while committing does not say whether it has committed.
        """
        return await self._call("write", work)

    async def close(self) -> None:
        """Close the connections of the running event loop; a later call opens new ones."""
        driver = self._drivers.pop(asyncio.get_running_loop(), None)
        if driver is not None:
            with translated(self._shown, self._seconds):
                async with asyncio.timeout(self._seconds):
                    await driver.close()

    async def _call(
        self, mode: Literal["read", "write"], work: Callable[[Neo4jTransaction], Awaitable[T]]
    ) -> T:
        async def managed(transaction: AsyncManagedTransaction) -> T:
            return await work(Neo4jTransaction(transaction, self.dialect))

        with translated(self._shown, self._seconds):
            async with asyncio.timeout(self._seconds):
                async for attempt in _attempts():
                    with attempt, translated(self._shown, self._seconds):
                        async with self._driver().session(database=self._database) as session:
                            if mode == "read":
                                return await session.execute_read(managed)
                            return await session.execute_write(managed)
        raise AssertionError("tenacity either returns or raises")

    def _driver(self) -> AsyncDriver:
        loop = asyncio.get_running_loop()
        driver = self._drivers.get(loop)
        if driver is None:
            driver = AsyncGraphDatabase.driver(
                self._uri,
                auth=self._auth,
                max_connection_pool_size=self._pool_size,
                # Shorter than a call, so that a pool that is too small is told from a slow server.
                connection_acquisition_timeout=self._seconds * 0.9,
                connection_timeout=self._seconds,
                liveness_check_timeout=30.0,
                max_transaction_retry_time=0,
                telemetry_disabled=True,
                user_agent="clew",
            )
            self._drivers[loop] = driver
        return driver


def _attempts() -> AsyncRetrying:
    return AsyncRetrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential_jitter(multiplier=0.05, max=1.0, jitter=0.05),
        retry=retry_if_exception(_transient),
        reraise=True,
    )


def _transient(error: BaseException) -> bool:
    # Time that has passed will not come back by asking again.
    return (
        isinstance(error, StoreUnavailable)
        and not isinstance(error, StoreTimeout)
        and not isinstance(error.__cause__, ConnectionAcquisitionTimeoutError)
    )


@contextmanager
def translated(address: str, seconds: float) -> Iterator[None]:
    """Turn what the driver raises into Clew's errors; bugs in our Cypher pass as they are."""
    try:
        yield
    except TimeoutError as error:
        raise StoreTimeout(
            f"The graph database at {address} did not answer within {seconds:g} seconds."
        ) from error
    except UnicodeEncodeError as error:  # half of a surrogate pair, which JSON can smuggle in
        raise InvalidInput("The graph database cannot be asked for text of this kind.") from error
    except ConnectionAcquisitionTimeoutError as error:
        raise StoreUnavailable(
            f"No connection to the graph database at {address} became free in time; it is down, or "
            "its pool is too small for the load."
        ) from error
    except (ServiceUnavailable, SessionExpired) as error:
        raise StoreUnavailable(
            f"The graph database at {address} does not answer ({_reason(error)}); check that it "
            "runs and that the address is right."
        ) from error
    except ConfigurationError as error:
        raise StoreMisconfigured(
            f"The graph database at {address} cannot be used as configured ({_reason(error)})."
        ) from error
    except Neo4jError as error:
        told = _told(error, address, seconds)
        if told is None:
            raise
        raise told from error


def _told(error: Neo4jError, address: str, seconds: float) -> Exception | None:
    """What a server's refusal means to the caller; nothing when it is a mistake of ours."""
    code = error.code or ""
    # All that is unique is merged, so that only another writer can have come first.
    if error.is_retryable() or isinstance(error, ConstraintError):
        return StoreUnavailable(
            f"The graph database at {address} is busy or changing over ({_reason(error)}); try "
            "again."
        )
    if "TransactionTimedOut" in code:
        return StoreTimeout(
            f"The graph database at {address} gave a transaction up before its {seconds:g} seconds "
            "were over."
        )
    if isinstance(error, AuthError) or (code.startswith("Neo.ClientError.Security")):
        what = "refused what was asked" if isinstance(error, Forbidden) else "refused the login"
        return StoreMisconfigured(
            f"The graph database at {address} {what} ({_reason(error)}); check its user and "
            "password."
        )
    if code == "Neo.ClientError.Database.DatabaseNotFound":
        return StoreMisconfigured(
            f"The server at {address} has no such database ({_reason(error)}); check its name."
        )
    if isinstance(error, DatabaseError) and not isinstance(error, ClientError):
        return StoreUnavailable(
            f"The graph database at {address} failed ({_reason(error)}); look into its log."
        )
    return None


def _reason(error: Exception) -> str:
    text = error.message if isinstance(error, Neo4jError) and error.message else str(error)
    return textwrap.shorten(_without_password(text), 200, placeholder="…").rstrip(".")


def _without_password(text: str) -> str:
    return re.sub(r"//[^/@]*@", "//", text)
