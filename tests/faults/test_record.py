"""The record: every fault of PostgreSQL, and the one clear error that is then all there is."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr

from clew.models.embeddings import SentenceEmbedder
from clew.services import Services, open_services
from clew.settings import Settings
from clew.stores.errors import StoreUnavailable
from clew.stores.postgres import schema
from clew.stores.postgres.embedded import EmbeddedPostgres
from clew.tests.graph.scene import WORLD, ingest
from clew.tests.timing import best_of_three
from clew.tests.wires import ON_THE_WIRE, Proxy, proxied

from .runs import asking

GONE, LATE, NEITHER = "does not answer", "ms were over before", "Neither the search nor the graph"
FAULTS = {
    "refused": f"{GONE}|{LATE}",
    "reset": f"{GONE}|{LATE}",
    "blackholed": LATE,
    "frozen": LATE,
    "slow": f"{NEITHER}|{LATE}",
    "cut mid-answer": f"{GONE}|{LATE}",
    "malformed": f"{GONE}|{LATE}",
    "wrong password": f"{GONE}|{LATE}",
    "killed": f"{GONE}|{LATE}",
    "pool exhausted": LATE,
}
"""Each fault, and what the error says; what waits for a connection is ended by the run's time."""

USER, PASSWORD = "asker", "right"
POOL = 5


@dataclass(frozen=True)
class Line:
    """Services on a server of the test's own, behind a proxy."""

    services: Services
    proxy: Proxy
    server: EmbeddedPostgres
    dsn: str
    pgdata: Path

    async def run(self, *statements: LiteralString) -> None:
        """As the server's owner, past the proxy."""
        async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as connection:
            for statement in statements:
                await connection.execute(statement)

    @property
    def postmaster(self) -> int:
        return int((self.pgdata / "postmaster.pid").read_text().split()[0])

    def signal(self, number: int) -> None:
        """To the postmaster and all its backends."""
        children = subprocess.run(
            ["pgrep", "-P", str(self.postmaster)], capture_output=True, text=True, check=True
        )
        for process in (self.postmaster, *map(int, children.stdout.split())):
            os.kill(process, number)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that the server's user may enter too."""
    path = Path(tempfile.mkdtemp(prefix="clew-faults-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
async def line(folder: Path, embedder: SentenceEmbedder) -> AsyncIterator[Line]:
    async with AsyncExitStack() as stack:
        server = EmbeddedPostgres(folder / "data")
        dsn = await server.start()
        stack.push_async_callback(server.stop)
        await schema.migrate(dsn, model=embedder.name, dimension=embedder.dimension)
        socket = Path(str(conninfo_to_dict(dsn)["host"])) / ".s.PGSQL.5432"
        proxy = await stack.enter_async_context(proxied(socket))
        url = f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{proxy.port}/postgres?sslmode=disable"
        pgdata = folder / "data" / "pgdata"
        access = pgdata / "pg_hba.conf"
        access.write_text(f"local all {USER} scram-sha-256\n{access.read_text()}")
        create = f"create role {USER} superuser login password '{PASSWORD}'"
        start = Line(None, proxy, server, dsn, pgdata)  # type: ignore[arg-type]  # not open yet
        await start.run(create, "select pg_reload_conf()")
        services = await open_services(Settings(database_url=SecretStr(url), pool_size=POOL))
        stack.push_async_callback(services.close)
        await ingest(services, WORLD)
        yield Line(services, proxy, server, dsn, pgdata)


@asynccontextmanager
async def broken(line: Line, fault: str) -> AsyncIterator[None]:
    """The record under a fault, which is over at the end."""
    async with AsyncExitStack() as stack:
        match fault:
            case _ if fault in ON_THE_WIRE:
                line.proxy.fault = ON_THE_WIRE[fault]
            case "slow":
                line.proxy.latency = 0.6
            case "frozen":
                stack.enter_context(frozen(line))
            case "killed":
                os.kill(line.postmaster, signal.SIGKILL)
                stack.push_async_callback(line.server.start)
            case "wrong password":
                await stack.enter_async_context(locked_out(line))
            case "pool exhausted":
                for _ in range(POOL):
                    await stack.enter_async_context(line.services.database.connection())
        try:
            yield
        finally:
            line.proxy.fault, line.proxy.latency = "none", 0.0


@contextmanager
def frozen(line: Line) -> Iterator[None]:
    line.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        line.signal(signal.SIGCONT)


@asynccontextmanager
async def locked_out(line: Line) -> AsyncIterator[None]:
    """The password was changed, and who was logged in has been put out."""
    await line.run(
        f"alter role {USER} password 'changed'",
        f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{USER}'",
    )
    yield
    await line.run(f"alter role {USER} password '{PASSWORD}'")


@pytest.mark.parametrize("fault", FAULTS)
@best_of_three
async def test_there_is_one_clear_error_within_the_budget_and_then_an_answer(
    line: Line, fault: str
) -> None:
    ask = asking(line.services)
    whole = await ask()
    assert whole.lost == {}
    async with broken(line, fault):
        for _ in range(2):
            without = await ask()
            assert isinstance(without.error, StoreUnavailable)
            assert re.search(FAULTS[fault], str(without.error))
    again = await ask()
    assert (again.error, again.found, again.lost) == (None, whole.found, {})


@pytest.mark.parametrize(
    ("step", "answers"),
    [
        ("admit", False),
        ("search_passages", False),
        ("link_entities", False),
        ("rerank_entities", False),
        ("merge_results", False),
        ("filter_access", True),
        ("link_passages", True),
        ("rerank_passages", True),
    ],
)
@best_of_three
async def test_a_record_that_freezes_on_the_way_leaves_what_was_read_by_then(
    line: Line, step: str, answers: bool
) -> None:
    """Once the passages are read they are the answer; before, there is one clear error."""
    freezing: Callable[[], Any] = lambda: line.signal(signal.SIGSTOP)  # noqa: E731
    try:
        asked = await asking(line.services, at={step: freezing})()
    finally:
        line.signal(signal.SIGCONT)
    assert (asked.error is None) is answers
    if answers:
        assert asked.found
        assert asked.lost
    else:
        assert re.search(f"{NEITHER}|{LATE}", str(asked.error))
    assert (await asking(line.services)()).lost == {}
