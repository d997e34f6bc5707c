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
from clew.settings import Price
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


class TestFallbacks:
    """Two providers in a row."""

    @pytest.fixture
    async def chat(self, llm: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ChatModel:
        chat = await open_chat(llm, monkeypatch, names=TWO)
        await warm(llm, chat)
        return chat

    async def test_the_second_is_not_asked_when_the_first_answers(
        self, llm: ChatServer, chat: ChatModel
    ) -> None:
        value, call = await ask(chat)
        assert value is not None
        assert call["model"] == chat.name == "openai:first"
        assert llm.models() == ["first"]

    @pytest.mark.parametrize(
        "reply",
        [
            pytest.param(Reply(status=500), id="500"),
            pytest.param(Reply(status=429), id="429"),
            pytest.param(Reply(status=401), id="401"),
            pytest.param(Reply(status=400), id="400"),
            pytest.param(Reply('{"intent": "rel'), id="JSON cut short"),
            pytest.param(Reply(GOOD.content, cut=True), id="cut off"),
            pytest.param(Reply(refusal="No."), id="a refusal"),
            pytest.param(Reply(GOOD.content, delay=2), id="late"),
            pytest.param(FROZEN, id="frozen"),
        ],
    )
    async def test_when_the_first_fails_the_second_answers_within_the_same_deadline(
        self, llm: ChatServer, chat: ChatModel, reply: Reply
    ) -> None:
        llm.says(QUESTION, reply, model="first")
        value, call = await ask(chat, seconds=1.0)
        assert value is not None
        assert value.place == "Wellington"
        assert call["model"] == "openai:second"
        assert call["error"] is None
        assert 0 < call["ms"] < 1100
        assert chat.breakers[1]._count == 0

    async def test_a_first_that_stays_frozen_is_passed_by_and_the_second_has_all_the_time(
        self, llm: ChatServer, chat: ChatModel
    ) -> None:
        llm.says(QUESTION, FROZEN, model="first")
        for _ in range(3):
            assert (await answer(chat, seconds=1.0)).place == "Wellington"
        assert states(chat) == ["open", "closed"]
        assert chat.ready
        llm.requests.clear()
        llm.says(QUESTION, Reply(GOOD.content, delay=0.7), model="second")
        assert (await answer(chat, seconds=1.5)).place == "Wellington"
        assert llm.models() == ["second"]

    async def test_when_all_are_down_the_error_says_what_each_did(
        self, llm: ChatServer, chat: ChatModel
    ) -> None:
        llm.says(QUESTION, Reply(status=500), model="first")
        llm.says(QUESTION, Reply(status=401), model="second")
        for _ in range(3):
            said = await error(chat)
            assert "openai:first gave no usable answer" in said
            assert "openai:second gave no usable answer" in said
        assert states(chat) == ["open", "open"]
        assert not chat.ready
        asked = len(llm.requests)
        said = await error(chat)
        assert said.count("is open after repeated failures.") == 2
        assert len(llm.requests) == asked

    async def test_an_open_circuit_does_not_wait_for_a_slot(
        self, llm: ChatServer, chat: ChatModel
    ) -> None:
        for breaker in chat.breakers:
            breaker._opened = breaker._clock()
        for _ in range(8):
            await chat._slots.acquire()
        assert "circuit" in await error(chat, seconds=60)


class TestAnswersKept:
    """An equal question of an equal caller, on an unchanged index."""

    @pytest.fixture
    async def chat(self, llm: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ChatModel:
        llm.says(QUESTION, Reply(GOOD.content, tokens=(200, 30)))
        prices = {SCRIPTED: Price(input=2, output=10)}
        return await open_chat(llm, monkeypatch, prices=prices, remembered=10)

    async def test_an_equal_question_is_answered_from_memory_and_costs_nothing(
        self, llm: ChatServer, chat: ChatModel
    ) -> None:
        first, again = await ask(chat, scope=ALICE), await ask(chat, scope=ALICE)
        assert len(llm.requests) == 1
        assert first.value == again.value
        assert not first.call["cached"]
        assert again.call["cached"]
        free = {"cached": True, "input_tokens": 0, "output_tokens": 0, "money": 0.0}
        assert again.call == {**first.call, **free, "ms": again.call["ms"]}

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param((("demo",), (1,), ("bob", "public")), id="another caller"),
            pytest.param((("acme",), (1,), ("alice", "public")), id="another tenant"),
            pytest.param((("demo",), (2,), ("alice", "public")), id="another version of the index"),
            pytest.param(None, id="a run that uses no caches"),
        ],
    )
    async def test_nobody_gets_an_answer_that_was_given_to_another(
        self, llm: ChatServer, chat: ChatModel, other: Scope | None
    ) -> None:
        await ask(chat, scope=ALICE)
        llm.says(QUESTION, understood("Somebody Else"))
        value, call = await ask(chat, scope=other)
        assert value is not None
        assert value.entities == ["Somebody Else"]
        assert not call["cached"]

    async def test_another_question_is_asked_for_itself(
        self, llm: ChatServer, chat: ChatModel
    ) -> None:
        await ask(chat, scope=ALICE)
        await ask(chat, question="Whose?", scope=ALICE)
        assert len(llm.requests) == 2

    async def test_without_a_scope_nothing_is_kept(self, llm: ChatServer, chat: ChatModel) -> None:
        for _ in range(2):
            assert not (await ask(chat, scope=None)).call["cached"]
        assert len(llm.requests) == 2

    async def test_a_failure_is_not_kept(self, llm: ChatServer, chat: ChatModel) -> None:
        llm.says(QUESTION, Reply(status=400), GOOD)
        assert (await ask(chat, scope=ALICE)).value is None
        assert (await ask(chat, scope=ALICE)).value is not None

    async def test_an_answer_is_there_though_the_model_is_not(
        self, llm: ChatServer, chat: ChatModel
    ) -> None:
        await ask(chat, scope=ALICE)
        chat.breakers[0]._opened = chat.breakers[0]._clock()
        assert (await ask(chat, seconds=0, scope=ALICE)).value is not None


class TestLedger:
    """What a question cost."""

    async def test_tokens_and_money_are_what_the_provider_reported_at_its_price(
        self, llm: ChatServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        llm.says(QUESTION, Reply(GOOD.content, tokens=(1500, 40)))
        prices = {SCRIPTED: Price(input=2, output=10)}
        _, call = await ask(await open_chat(llm, monkeypatch, prices=prices))
        assert call["ms"] > 0
        assert {**call, "ms": 0.0} == {
            "prompt": "understand_question",
            "version": 2,
            "key": PROMPT.key({"question": "Who?", "history": "[]"}),
            "model": SCRIPTED,
            "cached": False,
            "ms": 0.0,
            "input_tokens": 1500,
            "output_tokens": 40,
            "money": pytest.approx(0.0034),
            "answer": {
                "intent": "relational",
                "entities": ["Katherine Mansfield"],
                "time": None,
                "place": "Wellington",
                "confidence": 0.9,
            },
            "error": None,
        }

    async def test_without_a_price_the_money_is_not_known(
        self, llm: ChatServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        llm.says(QUESTION, Reply(GOOD.content, tokens=(1500, 40)))
        _, call = await ask(await open_chat(llm, monkeypatch))
        assert (call["input_tokens"], call["output_tokens"], call["money"]) == (1500, 40, None)

    async def test_an_answer_that_was_no_use_is_paid_for_too(
        self, llm: ChatServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        prices = {TWO[0]: Price(input=1, output=1), TWO[1]: Price(input=10, output=10)}
        chat = await open_chat(llm, monkeypatch, names=TWO, prices=prices)
        llm.says(QUESTION, Reply(refusal="No.", tokens=(100, 0)), model="first")
        llm.says(QUESTION, Reply(GOOD.content, tokens=(200, 50)), model="second")
        _, call = await ask(chat)
        assert (call["input_tokens"], call["output_tokens"]) == (300, 50)
        assert call["money"] == pytest.approx((100 + 10 * 250) / 1e6)

    async def test_what_cannot_be_stored_is_not_in_the_answer(
        self, llm: ChatServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        llm.says(QUESTION, understood("A\x00B", " \n", "x" * 10_000, place="\n\x1b[31mRome"))
        value, call = await ask(await open_chat(llm, monkeypatch))
        assert value is not None
        assert value.entities == ["A B", "", "x" * 200]
        assert value.place == "[31mRome"
        assert call["answer"] == value.model_dump()
