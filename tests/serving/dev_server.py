"""A real LangGraph server for a test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
QUIET = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
    "HF_HUB_OFFLINE": "1",
}


@contextmanager
def dev_server(log: Path, **environment: str) -> Iterator[str]:
    """The URL of `langgraph dev` without --allow-blocking, which writes to the log."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        *(sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"),
        *("--host", "127.0.0.1", "--port", str(port), "--config", str(ROOT / "langgraph.json")),
    ]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=log.parent,  # where it keeps its threads
            env={**os.environ, **QUIET, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _await_ready(url, server, log)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def _await_ready(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        assert server.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/ok", timeout=2).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())
