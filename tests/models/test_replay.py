"""A saved run asked again: the same answers and errors, and no model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clew.models.chat import Answered, Chat, ChatModel
from clew.models.ledger import ModelCall
from clew.models.replay import ReplayedChat
from clew.prompts.understand_question import PROMPT, QuestionUnderstanding
from clew.stores.errors import InvalidInput

from .chat_server import QUESTION, ChatServer, Reply, chat_server, open_chat, understood


@pytest.fixture
def llm() -> Iterator[ChatServer]:
    with chat_server() as started:
        yield started


@pytest.fixture
async def chat(llm: ChatServer, monkeypatch: pytest.MonkeyPatch) -> ChatModel:
    return await open_chat(llm, monkeypatch, remembered=9)


async def ask(chat: Chat, question: str, seconds: float = 10) -> Answered[QuestionUnderstanding]:
    values = {"question": question, "history": "[]"}
    return await chat.ask(PROMPT, values, seconds=seconds, scope=((), (), ()))


async def test_answers_and_errors_come_again_in_their_order_without_the_model(
    llm: ChatServer, chat: ChatModel
) -> None:
    llm.says(QUESTION, Reply(status=400), understood("First"), understood("Second"))
    saved = [await ask(chat, question) for question in ("One?", "One?", "Two?", "One?")]
    assert [found.call["cached"] for found in saved] == [False, False, False, True]
    llm.close()
    replayed = ReplayedChat([found.call for found in saved])
    for question, before in zip(("One?", "One?", "Two?", "One?"), saved, strict=True):
        assert replayed.ready
        assert await ask(replayed, question, seconds=0) == before
    assert not replayed.ready, "what was not asked then is not asked now"


async def test_questions_may_come_in_another_order(llm: ChatServer, chat: ChatModel) -> None:
    llm.says(QUESTION, understood("First"), understood("Second"))
    one, two = await ask(chat, "One?"), await ask(chat, "Two?")
    replayed = ReplayedChat([one.call, two.call])
    assert await ask(replayed, "Two?") == two
    assert await ask(replayed, "One?") == one


async def test_what_was_not_saved_is_said_and_not_asked(llm: ChatServer, chat: ChatModel) -> None:
    llm.says(QUESTION, understood("First"))
    one = await ask(chat, "One?")
    replayed = ReplayedChat([one.call])
    with pytest.raises(InvalidInput, match="holds no answer to this understand_question prompt"):
        await ask(replayed, "Two?")
    await ask(replayed, "One?")
    with pytest.raises(InvalidInput, match="other settings or another version of the prompt"):
        await ask(replayed, "One?")
    assert len(llm.requests) == 1


async def test_an_answer_that_no_longer_fits_its_prompt_is_said(
    llm: ChatServer, chat: ChatModel
) -> None:
    llm.says(QUESTION, understood("First"))
    one = await ask(chat, "One?")
    edited: ModelCall = {**one.call, "answer": {"entities": "First"}}
    with pytest.raises(InvalidInput, match="shape of a QuestionUnderstanding"):
        await ask(ReplayedChat([edited]), "One?")
