"""Questions to a language model, through a real HTTP server that answers as it was told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from clew.models.chat import ChatModel
from clew.models.embeddings import ModelUnavailable
from clew.prompts.understand_question import QuestionUnderstanding
from clew.stores.breaker import CircuitOpen
from clew.tests.timing import best_of_three

from .chat_server import (
    QUESTION,
    ChatServer,
    Reply,
    chat_breaker,
    chat_server,
    open_chat,
    understood,
)

SECONDS = 10.0
GOOD = understood("Katherine Mansfield", place="Wellington")


@pytest.fixture
def llm() -> Iterator[ChatServer]:
    with chat_server() as started:
        yield started


async def ask(chat: ChatModel, seconds: float = SECONDS) -> QuestionUnderstanding:
    return await chat.ask("Who?", QuestionUnderstanding, seconds=seconds)


async def test_an_answer_arrives_in_the_shape_asked_for(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.says(QUESTION, GOOD)
    answer = await ask(await open_chat(llm, monkeypatch))
    assert answer.entities == ["Katherine Mansfield"]
    assert (answer.intent, answer.place, answer.time) == ("relational", "Wellington", None)
    (request,) = llm.requests
    assert request["messages"][-1]["content"] == "Who?"
    assert request["temperature"] == 0


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_what_fails_in_passing_is_tried_once_more(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    llm.says(QUESTION, Reply(status=status), GOOD)
    chat = await open_chat(llm, monkeypatch)
    assert (await ask(chat)).entities == ["Katherine Mansfield"]
    assert len(llm.requests) == 2
    assert chat.breaker.state == "closed"


async def test_the_second_try_fits_into_an_ordinary_deadline(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.says(QUESTION, GOOD)
    chat = await open_chat(llm, monkeypatch)
    await ask(chat)
    for _ in range(5):
        llm.says(QUESTION, Reply(status=503), GOOD)
        assert (await ask(chat, seconds=0.5)).entities == ["Katherine Mansfield"]


@pytest.mark.parametrize(("status", "tries"), [(429, 2), (500, 2), (400, 1), (401, 1), (404, 1)])
async def test_a_status_that_stays_is_the_models_unavailability(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch, status: int, tries: int
) -> None:
    llm.says(QUESTION, Reply(status=status))
    with pytest.raises(ModelUnavailable, match="gave no usable answer"):
        await ask(await open_chat(llm, monkeypatch))
    assert len(llm.requests) == tries


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply('{"intent": "rel'), id="JSON cut short"),
        pytest.param(Reply("I would rather talk."), id="prose"),
        pytest.param(Reply(""), id="nothing"),
        pytest.param(Reply({"answer": 42}), id="another schema"),
        pytest.param(understood("X", confidence=7), id="out of bounds"),
        pytest.param(understood("X", intent="gossip"), id="no such intent"),
        pytest.param(Reply(refusal="I cannot help with that."), id="a refusal"),
        pytest.param(Reply(body=b"<html>busy</html>"), id="a page instead of JSON"),
        pytest.param(Reply(body=b'{"choices": null}'), id="no choices"),
        pytest.param(Reply(body=b'{"object": "chat.completion"}'), id="no choices at all"),
        pytest.param(Reply(body=b'{"error": {"message": "overloaded"}}'), id="an error with 200"),
        pytest.param(Reply(body=b"[]"), id="a list instead of an object"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_the_models_unavailability(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    llm.says(QUESTION, reply)
    with pytest.raises(ModelUnavailable, match="openai:scripted gave no usable answer"):
        await ask(await open_chat(llm, monkeypatch))


@best_of_three
async def test_a_slow_model_is_left_at_its_deadline(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.says(QUESTION, GOOD)
    chat = await open_chat(llm, monkeypatch)
    await ask(chat)
    llm.says(QUESTION, Reply(delay=2))
    begun = time.perf_counter()
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.2 s"):
        await ask(chat, seconds=0.2)
    assert 0.15 < time.perf_counter() - begun < 0.6


async def test_a_refused_connection_is_tried_twice_and_then_unavailable(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch)
    llm.close()
    attempts = []
    attempt = chat._model._agenerate

    async def counted(*args: object, **kwargs: object) -> object:
        attempts.append(1)
        return await attempt(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(type(chat._model), "_agenerate", lambda _, *a, **k: counted(*a, **k))
    with pytest.raises(ModelUnavailable, match="gave no usable answer"):
        await ask(chat)
    assert len(attempts) == 2


async def test_the_breaker_opens_after_three_calls_however_often_each_was_tried(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.says(QUESTION, Reply(status=500))
    chat = await open_chat(llm, monkeypatch)
    for number in range(3):
        assert chat.breaker.state == "closed", number
        with pytest.raises(ModelUnavailable):
            await ask(chat)
    assert chat.breaker.state == "open"
    assert len(llm.requests) == 6
    with pytest.raises(CircuitOpen):
        await ask(chat)
    assert len(llm.requests) == 6


async def test_no_more_calls_run_at_once_than_there_are_slots(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch, concurrency=2)
    llm.says(QUESTION, GOOD)
    await ask(chat)
    llm.says(QUESTION, understood("X", place=None))
    running, most = 0, 0
    attempt = chat._attempt

    async def watched(prompt: str, shape: type[QuestionUnderstanding]) -> QuestionUnderstanding:
        nonlocal running, most
        running += 1
        most = max(most, running)
        answer = await attempt(prompt, shape)
        running -= 1
        return answer

    monkeypatch.setattr(chat, "_attempt", watched)
    await asyncio.gather(*(ask(chat) for _ in range(6)))
    assert most == 2


async def test_a_bug_in_clew_is_not_taken_for_the_models_fault(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch)

    async def broken(*_: object) -> QuestionUnderstanding:
        raise KeyError("a bug")

    monkeypatch.setattr(chat, "_attempt", broken)
    with pytest.raises(KeyError):
        await ask(chat)
    assert chat.breaker.state == "closed"


@pytest.mark.parametrize("name", ["nobody:model", "just-a-name"])
async def test_a_provider_that_cannot_be_used_is_said_at_the_start(name: str) -> None:
    with pytest.raises(ModelUnavailable, match="CLEW_CHAT_MODEL"):
        await ChatModel.open(name, concurrency=1, breaker=chat_breaker())


async def test_a_missing_key_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match="openai:scripted"):
        await ChatModel.check("openai:scripted")
