"""Real MCP clients: of `clew mcp` over its pipes, and of a server's /mcp."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from . import dev_server

PATIENT = ("-s", "budget_ms=60000", "-s", "search_ms=30000", "-s", "graph_ms=30000")
CLEW = (sys.executable, "-c", "from clew.serving.cli import main; main()")
WHO = """
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    if authorization is None:
        return {"identity": "", "is_authenticated": False}
    name = authorization.removeprefix("Bearer ")
    return {"identity": name, "permissions": ["namespace:x"]}
"""


def bare(dsn: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("CLEW_")}
    return {**kept, "CLEW_DATABASE_URL": dsn, "HF_HUB_OFFLINE": "1"}


@asynccontextmanager
async def over_stdio(dsn: str, *options: str) -> AsyncIterator[ClientSession]:
    command, *arguments = CLEW
    parameters = StdioServerParameters(
        command=command, args=[*arguments, "mcp", *PATIENT, *options], env=bare(dsn)
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


@contextmanager
def server(dsn: str, folder: Path) -> Iterator[str]:
    """The URL of /mcp of `langgraph dev` as configured here."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    configured = json.loads((dev_server.ROOT / "langgraph.json").read_text("utf-8"))
    (folder / "who.py").write_text(WHO)
    configured["auth"] = {"path": "./who.py:auth"}
    (folder / "langgraph.json").write_text(json.dumps(configured))
    log = folder / "server.log"
    command = [
        *(sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"),
        *("--host", "127.0.0.1", "--port", str(port)),
    ]
    with log.open("wb") as output:
        running = subprocess.Popen(
            command,
            cwd=folder,
            env={**bare(dsn), **dev_server.QUIET},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        dev_server._await_ready(f"http://127.0.0.1:{port}", running, log)
        yield f"http://127.0.0.1:{port}/mcp"
        assert "Blocking call" not in log.read_text("utf-8")
    finally:
        running.terminate()
        running.wait(30)


@asynccontextmanager
async def over_http(url: str, token: str | None) -> AsyncIterator[ClientSession]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as client,
        streamable_http_client(url, http_client=client) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, **arguments: Any) -> CallToolResult:
    result = await session.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    for text in texts(result):
        for trace in ("{'", "['", "Document(", "Traceback", "\\n"):
            assert trace not in text, "people's text, not a program's"
    return result


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


async def refused(session: ClientSession, tool: str, **arguments: Any) -> str:
    result = await call(session, tool, **arguments)
    assert result.is_error
    [sentence] = texts(result)
    assert "\n" not in sentence
    return sentence


def found(result: CallToolResult) -> list[str]:
    assert not result.is_error, texts(result)
    assert result.structured_content is not None
    return [passage["document_id"] for passage in result.structured_content["passages"]]


@contextmanager
def raw(
    dsn: str,
) -> Iterator[tuple[Callable[..., None], Callable[[], dict[str, Any]], subprocess.Popen[bytes]]]:
    """What to say and hear, line by line, to a server that has been greeted; and its process."""
    with subprocess.Popen(
        [*CLEW, "mcp", *PATIENT],
        env=bare(dsn),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        pipe, lines = running.stdin, running.stdout

        def say(**message: Any) -> None:
            pipe.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            pipe.flush()

        def hear() -> dict[str, Any]:
            message: dict[str, Any] = json.loads(lines.readline())
            return message

        who = {"name": "passer-by", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
        say(id=1, method="initialize", params=hello)
        assert hear()["result"]["serverInfo"]["name"] == "clew"
        say(method="notifications/initialized")
        yield say, hear, running


def finish(running: subprocess.Popen[bytes]) -> tuple[int, str]:
    """The exit code, once the client has closed its end, and what the log told of a bug."""
    assert running.stdin is not None
    assert running.stderr is not None
    running.stdin.close()
    log = running.stderr.read().decode()
    return running.wait(60), log if "Traceback" in log or "Error" in log else ""
