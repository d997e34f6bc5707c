"""The language model: every fault, and the question read by its words instead."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.models.chat import ChatModel
from clew.models.embeddings import ModelUnavailable, SentenceEmbedder
from clew.prompts.understand_question import PROMPT
from clew.services import Services
from clew.stores.breaker import Breaker
from clew.stores.cache import Cache
from clew.stores.errors import StoreUnavailable
from clew.tests.graph.scene import world
from clew.tests.models.chat_server import (
    QUESTION,
    SYNONYMS,
    ChatServer,
    Reply,
    chat_server,
    synonyms,
    understood,
)
from clew.tests.models.cross_encoder import Clock
from clew.tests.timing import best_of_three
from clew.tests.wires import ON_THE_WIRE, Proxy, proxied

from .runs import asking

NO_ANSWER, LATE, SHAPE = "no usable answer", "did not answer within", "not a Question"
FAULTS = {
    "refused": (NO_ANSWER, True),
    "reset": (NO_ANSWER, True),
    "blackholed": (LATE, True),
    "frozen": (LATE, True),
    "slow": (LATE, True),
    "cut mid-answer": (NO_ANSWER, True),
    "malformed": (NO_ANSWER, True),
    "another shape": (NO_ANSWER, False),
    "wrong key": (NO_ANSWER, True),
    "pool exhausted": ("was busy for", False),
}
"""Each fault, why the question was read by its words, and whether it is the model's failure."""

LLM_MS = 300
"""Twice that, for both of a run's questions to the model, leaves time for everything else."""


@dataclass(frozen=True)
class Line:
    """Services, and a scripted model behind a proxy."""

    services: Services
    server: ChatServer
    proxy: Proxy


@pytest.fixture(scope="module")
async def line(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Line]:
    with chat_server() as server:
        address = urlsplit(server.url)
        async with (
            proxied((address.hostname or "", address.port or 0)) as proxy,
            world(template) as services,
        ):
            yield Line(services, server, proxy)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield


def script(server: ChatServer) -> None:
    """What the model says when nothing is wrong."""
    server.says(QUESTION, understood("Katherine Mansfield"))
    server.says(SYNONYMS, synonyms())


async def open_model(
    url: str, patch: pytest.MonkeyPatch, clock: Clock, *, concurrency: int = 8
) -> ChatModel:
    """The model at an address, whose circuit keeps the time of the clock given."""
    patch.setenv("OPENAI_BASE_URL", url)
    return await ChatModel.open(
        ["openai:scripted"],
        concurrency=concurrency,
        prices={},
        breaker=lambda name: Breaker(
            name, failures=(StoreUnavailable, ModelUnavailable, TimeoutError), clock=clock
        ),
        answers=Cache("answers", 0),
    )


@asynccontextmanager
async def broken(line: Line, fault: str, chat: ChatModel) -> AsyncIterator[None]:
    """The model under a fault, which is over at the end."""
    async with AsyncExitStack() as stack:
        match fault:
            case _ if fault in ON_THE_WIRE:
                line.proxy.fault = ON_THE_WIRE[fault]
            case "slow":
                line.proxy.latency = 2.0
            case "frozen":
                await stack.enter_async_context(elsewhere(line.proxy))
            case "another shape":
                line.server.says(QUESTION, Reply("I would rather talk about the weather."))
                line.server.says(SYNONYMS, Reply("I would rather talk about the weather."))
            case "wrong key":
                line.server.says(QUESTION, Reply(status=401))
                line.server.says(SYNONYMS, Reply(status=401))
            case "pool exhausted":
                await stack.enter_async_context(held(line.proxy, chat))
        try:
            yield
        finally:
            line.proxy.fault, line.proxy.latency = "none", 0.0
            script(line.server)


@asynccontextmanager
async def elsewhere(proxy: Proxy) -> AsyncIterator[None]:
    """A model in a process of its own, which is frozen."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from clew.tests.models.chat_server import ChatServer; import sys;"
        "server = ChatServer(); print(server.url, flush=True); sys.stdin.read(); server.close()",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    address = urlsplit((await process.stdout.readline()).decode().strip())
    behind = proxy.behind
    proxy.behind = (address.hostname or "", address.port or 0)
    process.send_signal(signal.SIGSTOP)
    yield
    proxy.behind = behind
    process.send_signal(signal.SIGCONT)
    process.stdin.close()
    await process.wait()


@asynccontextmanager
async def held(proxy: Proxy, chat: ChatModel) -> AsyncIterator[None]:
    """Other questions have all the slots, and wait."""
    proxy.fault = "blackhole"
    values = dict.fromkeys(PROMPT.data | PROMPT.plain, "")
    waiting = asyncio.create_task(chat.ask(PROMPT, values, seconds=60, scope=None))
    await asyncio.sleep(0)
    assert chat._slots.locked()
    yield
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


@pytest.mark.parametrize("fault", FAULTS)
@best_of_three
async def test_the_question_is_read_by_its_words(line: Line, fault: str) -> None:
    """Nothing else is lost; what is the model's failure opens its circuit, and is tried again."""
    why, counts = FAULTS[fault]
    script(line.server)
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        url = f"http://127.0.0.1:{line.proxy.port}/v1"
        concurrency = 1 if fault == "pool exhausted" else 8
        chat = await open_model(url, patch, clock, concurrency=concurrency)
    (breaker,) = chat.breakers
    ask = asking(replace(line.services, chat=chat), llm_ms=LLM_MS)
    plain = await asking(replace(line.services, chat=None))()
    whole = await ask()
    assert rung(whole.output) == "llm"
    assert (whole.found, whole.lost) == (plain.found, {})
    async with broken(line, fault, chat):
        for _ in range(3):
            without = await ask()
            assert without.found == plain.found
            assert rung(without.output) == "lexical"
            assert why in without.lost["extract_entities"]
            assert without.failed <= {"generate_synonyms"}
            if breaker.state == "open":
                break
        assert breaker.changes == ({"open": 1} if counts else {})
        if counts:
            asked = len(line.server.requests)
            shut = await ask()
            assert shut.found == plain.found
            assert "circuit" in shut.lost["extract_entities"]
            assert len(line.server.requests) == asked
    clock.now += 30
    again = await ask()
    assert (rung(again.output), again.found, again.lost) == ("llm", whole.found, {})
    assert breaker.changes == ({"open": 1, "half_open": 1, "closed": 1} if counts else {})


def rung(output: dict[str, Any]) -> str:
    """What read the question."""
    return str(output["diagnostics"]["extraction"])
