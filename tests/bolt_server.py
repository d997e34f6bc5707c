"""A server that speaks Bolt, for tests: ArcadeDB's, from the wheel that brings its own Java."""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import shutil
import signal
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from clew.stores.neo4j.connection import Neo4jConnection
from clew.stores.neo4j.dialect import Dialect

__all__ = ["BoltServer", "Target", "bolt_server", "random_prefix"]

DATABASE = "neo4j"
USER = "root"
STARTUP = 90.0


@dataclass(frozen=True)
class BoltServer:
    """A running server; `pause` freezes its process, which leaves its connections open."""

    host: str
    port: int
    user: str
    password: str
    database: str
    process: asyncio.subprocess.Process

    @property
    def uri(self) -> str:
        return f"bolt://{self.host}:{self.port}"

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@dataclass(frozen=True)
class Target:
    """Where the tests' server is; `server` is the process, when it is ours."""

    uri: str
    auth: tuple[str, str]
    database: str | None
    server: BoltServer | None

    @property
    def ours(self) -> BoltServer:
        """Our own server; a test that needs one is skipped on another."""
        if self.server is None:
            pytest.skip("needs a server that may be frozen; unset NEO4J_URI")
        return self.server

    def connection(self, dialect: Dialect, **changed: Any) -> Neo4jConnection:
        """A connection to it, other than usual in what is named."""
        settings = {"uri": self.uri, "auth": self.auth, "database": self.database, "seconds": 60.0}
        return Neo4jConnection(dialect=dialect, **{**settings, **changed})


def random_prefix() -> str:
    return f"t{secrets.token_hex(6)}_"


@asynccontextmanager
async def bolt_server() -> AsyncIterator[BoltServer]:
    """Start a server with one empty database on free loopback ports, and take it down again."""
    folder = Path(tempfile.mkdtemp(prefix="clew-bolt-"))
    password = secrets.token_hex(8)
    bolt, http = _free_ports(2)
    with (folder / "server.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *_command(folder, password, bolt, http), cwd=folder, stdout=log, stderr=log
        )
        try:
            await _create_database(process, folder, http, password)
            yield BoltServer("127.0.0.1", bolt, USER, password, DATABASE, process)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            shutil.rmtree(folder, ignore_errors=True)


def _command(folder: Path, password: str, bolt: int, http: int) -> list[str]:
    spec = importlib.util.find_spec("arcadedb_embedded")
    if spec is None or spec.submodule_search_locations is None:
        raise RuntimeError("arcadedb-embedded is not installed; run `make install`.")
    package = Path(spec.submodule_search_locations[0])
    settings = {
        "server.rootPassword": password,
        "server.rootPath": folder,
        "server.databaseDirectory": folder / "databases",
        "server.httpIncomingHost": "127.0.0.1",
        "server.httpIncomingPort": http,
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
        "bolt.host": "127.0.0.1",
        "bolt.port": bolt,
    }
    return [
        str(package / "jre" / "bin" / "java"),
        *("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-Djava.awt.headless=true"),
        *(f"-Darcadedb.{name}={value}" for name, value in settings.items()),
        *("-cp", f"{package / 'jars'}/*", "com.arcadedb.server.ArcadeDBServer"),
    ]


async def _create_database(
    process: asyncio.subprocess.Process, folder: Path, port: int, password: str
) -> None:
    """Create it as soon as the server answers."""
    command = {"command": f"create database {DATABASE}"}
    async with (
        asyncio.timeout(STARTUP),
        httpx.AsyncClient(auth=(USER, password), trust_env=False, timeout=STARTUP) as client,
    ):
        while True:
            if process.returncode is not None:
                said = (folder / "server.log").read_text("utf-8", errors="replace")
                raise RuntimeError(f"The Bolt server ended while it started:\n{said}")
            try:
                answer = await client.post(f"http://127.0.0.1:{port}/api/v1/server", json=command)
            except httpx.TransportError:
                await asyncio.sleep(0.1)
                continue
            if answer.is_success:
                return
            if answer.status_code < 500:
                answer.raise_for_status()
            await asyncio.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    # All are held until the last is known, or the same one might come twice.
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()
