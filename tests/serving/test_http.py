"""Whether the process lives, and is ready, asked over HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn

from clew.services import close_services
from clew.serving.http import app
from clew.settings import load_settings

NOWHERE = "postgresql://clew:secret@127.0.0.1:1/clew"


@asynccontextmanager
async def served(dsn: str, patch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the app behind a real server, in this event loop."""
    patch.setenv("CLEW_DATABASE_URL", dsn)
    load_settings.cache_clear()
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    serving = asyncio.create_task(server.serve([listening]))
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30
        ) as client:
            yield client
    finally:
        server.should_exit = True
        await serving
        await close_services()
        load_settings.cache_clear()


async def ready(client: httpx.AsyncClient) -> httpx.Response:
    """The answer once nothing is being opened any more."""
    while True:
        answer = await client.get("/readyz")
        if "still being opened" not in answer.text:
            return answer


async def test_a_process_is_ready_once_models_are_loaded_and_the_database_answers(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(dsn, monkeypatch) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        answer = await ready(client)
        assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


async def test_a_process_without_its_database_lives_and_says_in_a_sentence_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with served(NOWHERE, monkeypatch) as client:
        assert (await client.get("/healthz")).status_code == 200
        answer = await ready(client)
        assert answer.status_code == 503
        assert answer.json() == {
            "status": "not ready",
            "reason": "The database does not answer.",
        }


async def test_a_database_that_was_never_prepared_is_named_as_such(
    empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(empty_dsn, monkeypatch) as client:
        answer = await ready(client)
        assert answer.status_code == 503
        assert "clew doctor" in answer.json()["reason"]
