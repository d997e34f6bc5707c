"""Providers in a row, answers that are kept, and what it all cost."""

from __future__ import annotations

import pytest

from clew.models.chat import ChatModel
from clew.prompts.understand_question import PROMPT
from clew.settings import Price
from clew.stores.cache import Scope

from .chat_server import (
    QUESTION,
    SCRIPTED,
    ChatServer,
    Reply,
    open_chat,
    understood,
)
from .test_chat import ALICE, FROZEN, GOOD, TWO, answer, ask, error, states, warm
from .test_chat import llm as llm  # a fixture


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
