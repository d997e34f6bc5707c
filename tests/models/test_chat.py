"""Questions to a language model, through a real HTTP server that answers as it was told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from clew.models.chat import Answered, ChatModel
from clew.models.embeddings import ModelUnavailable
from clew.models.provider import Provider
from clew.prompts.understand_question import PROMPT, QuestionUnderstanding
from clew.stores.cache import Cache, Scope
from clew.tests.timing import best_of_three

from .chat_server import (
    QUESTION,
    SCRIPTED,
    ChatServer,
    Reply,
    chat_breaker,
    chat_server,
    open_chat,
    understood,
)

SECONDS = 10.0
GOOD = understood("Katherine Mansfield", place="Wellington")
TWO = ("openai:first", "openai:second")
ALICE: Scope = (("demo",), (1,), ("alice", "public"))
FROZEN = Reply(delay=60)


@pytest.fixture
def llm() -> Iterator[ChatServer]:
    with chat_server() as started:
        yield started


async def ask(
    chat: ChatModel, seconds: float = SECONDS, *, question: str = "Who?", scope: Scope | None = None
) -> Answered[QuestionUnderstanding]:
    values = {"question": question, "history": "[]"}
    return await chat.ask(PROMPT, values, seconds=seconds, scope=scope)


async def answer(chat: ChatModel, seconds: float = SECONDS) -> QuestionUnderstanding:
    value, call = await ask(chat, seconds)
    assert value is not None, call["error"]
    return value


async def error(chat: ChatModel, seconds: float = SECONDS) -> str:
    value, call = await ask(chat, seconds)
    assert value is None
    assert call["answer"] is None
    return str(call["error"])


def states(chat: ChatModel) -> list[str]:
    return [breaker.state for breaker in chat.breakers]


async def warm(llm: ChatServer, chat: ChatModel) -> None:
    """Each client's first use is slow."""
    llm.says(QUESTION, GOOD)
    for provider in chat.providers:
        await ask(ChatModel([provider], concurrency=1, answers=Cache("answers", 0)))
    llm.requests.clear()


async def test_an_answer_arrives_in_the_shape_asked_for(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.says(QUESTION, GOOD)
    found = await answer(await open_chat(llm, monkeypatch))
    assert found.entities == ["Katherine Mansfield"]
    assert (found.intent, found.place, found.time) == ("relational", "Wellington", None)
    (request,) = llm.requests
    assert "Who?" in request["messages"][-1]["content"]
    assert request["temperature"] == 0


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_what_fails_in_passing_is_tried_once_more(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    llm.says(QUESTION, Reply(status=status), GOOD)
    chat = await open_chat(llm, monkeypatch)
    assert (await answer(chat)).entities == ["Katherine Mansfield"]
    assert len(llm.requests) == 2
    assert states(chat) == ["closed"]


async def test_the_second_try_fits_into_an_ordinary_deadline(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch)
    await warm(llm, chat)
    for _ in range(5):
        llm.says(QUESTION, Reply(status=503), GOOD)
        assert (await answer(chat, seconds=0.5)).entities == ["Katherine Mansfield"]


@pytest.mark.parametrize(("status", "tries"), [(429, 2), (500, 2), (401, 1), (404, 1)])
async def test_a_status_that_stays_is_an_error_and_opens_the_circuit_the_third_time(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch, status: int, tries: int
) -> None:
    llm.says(QUESTION, Reply(status=status))
    chat = await open_chat(llm, monkeypatch)
    for number in range(3):
        assert states(chat) == ["closed"], number
        assert chat.ready
        assert f"{SCRIPTED} gave no usable answer" in await error(chat)
    assert len(llm.requests) == 3 * tries
    assert states(chat) == ["open"]
    assert not chat.ready
    assert f"The circuit of the chat model {SCRIPTED} is open" in await error(chat)
    assert len(llm.requests) == 3 * tries


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply('{"intent": "rel'), id="JSON cut short"),
        pytest.param(Reply("I would rather talk."), id="prose"),
        pytest.param(Reply(""), id="nothing"),
        pytest.param(Reply({"answer": 42}), id="another schema"),
        pytest.param(understood("X", confidence=7), id="out of bounds"),
        pytest.param(understood("X", intent="gossip"), id="no such intent"),
        pytest.param(understood(*(f"name {n}" for n in range(10_000))), id="10,000 entities"),
        pytest.param(Reply(refusal="I cannot help with that."), id="a refusal"),
        pytest.param(Reply(body=b"<html>busy</html>"), id="a page instead of JSON"),
        pytest.param(Reply(body=b'{"choices": null}'), id="no choices"),
        pytest.param(Reply(body=b'{"object": "chat.completion"}'), id="no choices at all"),
        pytest.param(Reply(body=b'{"error": {"message": "overloaded"}}'), id="an error with 200"),
        pytest.param(Reply(body=b"[]"), id="a list instead of an object"),
        pytest.param(Reply(status=400), id="a question it does not take"),
        pytest.param(Reply(status=413), id="a question too long for it"),
    ],
)
async def test_what_a_question_can_bring_about_does_not_open_the_circuit_for_others(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    llm.says(QUESTION, reply)
    chat = await open_chat(llm, monkeypatch)
    for _ in range(4):
        assert f"{SCRIPTED} gave no usable answer" in await error(chat)
    assert len(llm.requests) == 4
    assert states(chat) == ["closed"]


async def test_an_answer_cut_off_in_its_middle_is_a_failure_of_the_provider(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm.says(QUESTION, Reply(GOOD.content, cut=True))
    chat = await open_chat(llm, monkeypatch)
    for _ in range(3):
        assert "gave no usable answer (" in await error(chat)
    assert states(chat) == ["open"]


async def test_what_a_providers_package_lets_through_is_checked_again() -> None:
    class Lying:
        def with_structured_output(self, shape: Any, include_raw: bool) -> Any:
            made = shape.model_construct(intent="gossip", entities=[7], confidence="very")
            return RunnableLambda(lambda _: {"raw": AIMessage(""), "parsed": made})

    lying: Any = Lying()
    provider = Provider(lying, "lying", breaker=chat_breaker(), price=None)
    chat = ChatModel([provider], concurrency=1, answers=Cache("answers", 9))
    assert "not a QuestionUnderstanding" in await error(chat)
    assert states(chat) == ["closed"]


@best_of_three
async def test_a_slow_model_is_left_at_its_deadline(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch)
    await warm(llm, chat)
    llm.says(QUESTION, Reply(delay=2))
    begun = time.perf_counter()
    assert "did not answer within 0.2 s" in await error(chat, seconds=0.2)
    assert 0.15 < time.perf_counter() - begun < 0.6


@pytest.mark.parametrize(("seconds", "state"), [(0.2, "closed"), (0.3, "open")])
async def test_being_late_counts_only_when_there_was_time_enough(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch, seconds: float, state: str
) -> None:
    llm.says(QUESTION, FROZEN)
    chat = await open_chat(llm, monkeypatch)
    for _ in range(3):
        assert "did not answer" in await error(chat, seconds)
    assert states(chat) == [state]


async def test_without_time_nobody_is_asked(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch)
    for seconds in (0.0, -1.0):
        value, call = await ask(chat, seconds)
        assert value is None
        assert "no time left to ask the chat model openai:scripted" in str(call["error"])
        assert call["money"] == 0
    assert llm.requests == []
    assert states(chat) == ["closed"]


async def test_a_refused_connection_is_tried_twice_and_then_unavailable(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch)
    llm.close()
    attempts = []
    model = chat.providers[0]._model
    attempt = model._agenerate

    async def counted(*args: object, **kwargs: object) -> object:
        attempts.append(1)
        return await attempt(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(type(model), "_agenerate", lambda _, *a, **k: counted(*a, **k))
    assert "gave no usable answer" in await error(chat)
    assert len(attempts) == 2


async def test_no_more_questions_run_at_once_than_there_are_slots(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch, concurrency=2)
    llm.says(QUESTION, GOOD)
    running, most = 0, 0
    (provider,) = chat.providers
    attempt = provider._attempt

    async def watched(*args: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        found = await attempt(*args)
        running -= 1
        return found

    monkeypatch.setattr(provider, "_attempt", watched)
    await asyncio.gather(*(answer(chat) for _ in range(6)))
    assert most == 2


async def test_waiting_for_a_slot_takes_from_the_time_and_is_no_failure_of_the_provider(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch, concurrency=1)
    llm.says(QUESTION, FROZEN)
    waiting = asyncio.create_task(ask(chat))
    assert await asyncio.to_thread(llm.arrived.wait, SECONDS)
    for _ in range(4):
        assert "was busy for 0.3 s; raise CLEW_CHAT_CONCURRENCY" in await error(chat, 0.3)
    assert states(chat) == ["closed"]
    assert len(llm.requests) == 1
    waiting.cancel()
    llm.says(QUESTION, GOOD)
    assert (await answer(chat)).place == "Wellington", "a cancelled question gives its slot back"


async def test_a_cancelled_trial_gives_its_permit_back(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch)
    breaker = chat.breakers[0]
    breaker._opened = breaker._clock() - 60
    llm.says(QUESTION, FROZEN)
    trial = asyncio.create_task(ask(chat))
    assert await asyncio.to_thread(llm.arrived.wait, SECONDS)
    assert "circuit" in await error(chat), "one trial at a time"
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert states(chat) == ["half_open"]
    llm.says(QUESTION, GOOD)
    await answer(chat)
    assert states(chat) == ["closed"]


async def test_a_bug_in_clew_is_not_taken_for_the_models_fault(
    llm: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = await open_chat(llm, monkeypatch)

    async def broken(*_: object) -> QuestionUnderstanding:
        raise KeyError("a bug")

    monkeypatch.setattr(chat.providers[0], "_attempt", broken)
    with pytest.raises(KeyError):
        await ask(chat)
    with pytest.raises(ValueError, match="understand_question takes"):
        await chat.ask(PROMPT, {"question": "Who?"}, seconds=1, scope=None)
    assert states(chat) == ["closed"]


@pytest.mark.parametrize("name", ["nobody:model", "just-a-name"])
async def test_a_provider_that_cannot_be_used_is_said_at_the_start(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    with pytest.raises(ModelUnavailable, match="CLEW_CHAT_MODEL and CLEW_CHAT_FALLBACKS"):
        await ChatModel.open(
            [SCRIPTED, name],
            concurrency=1,
            prices={},
            breaker=chat_breaker,
            answers=Cache("answers", 0),
        )


async def test_a_missing_key_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable, match=SCRIPTED):
        await ChatModel.check(SCRIPTED)
