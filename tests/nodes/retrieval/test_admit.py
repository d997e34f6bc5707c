"""What is turned away at the door, and in which words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.stores.access import acting_as
from clew.stores.breaker import Breaker
from clew.stores.errors import InvalidInput, StoreUnavailable, UnknownNamespace
from clew.tests.graph.scene import Faulty, ask, breaker, fails, gone, ingest, patient, world


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("", "The question is empty; ask something."),
        (" \n\t\u00a0 ", "The question is empty; ask something."),
        ("a" * 10_001, "10,001 characters; the most is 10,000"),
        ("word " * 20_000, "99,999 characters; the most is 10,000"),
        ("Who is \x00 this?", "contains a null byte; remove it"),
        ("\x00", "contains a null byte; remove it"),
        ("Who is \ud800?", "contains half of a surrogate pair; remove it"),
    ],
)
async def test_a_question_that_is_none_is_refused_with_a_sentence_that_helps(
    services: Services, question: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await ask(services, question)
    assert words in str(refused.value)
    assert str(refused.value).endswith(".")


async def test_the_longest_question_allowed_is_answered(services: Services) -> None:
    question = ("Katherine Mansfield " * 600)[:9_999] + "?"
    assert len(question) == 10_000
    assert (await ask(services, f"  {question}  "))["documents"]


async def test_a_namespace_that_is_not_there_and_one_that_is_closed_sound_the_same(
    services: Services,
) -> None:
    with pytest.raises(UnknownNamespace) as unknown, acting_as(namespaces=("default",)):
        await ask(services, "Who?", namespaces=["default", "missing"])
    with pytest.raises(UnknownNamespace) as closed, acting_as(namespaces=("default",)):
        await ask(services, "Who?", namespaces=["default", "nameless"])
    told = str(unknown.value).replace("'missing'", "'nameless'")
    assert told == str(closed.value)
    assert "ingest into it first" in told


async def test_one_unknown_namespace_among_known_ones_is_still_refused(services: Services) -> None:
    with pytest.raises(UnknownNamespace, match="'nowhere'"):
        await ask(services, "Who?", namespaces=["default", "nowhere"])


@pytest.mark.parametrize("name", ["", "'; drop table chunks; --", "a\ud800", "x" * 100_000])
async def test_a_strange_namespace_is_only_unknown(services: Services, name: str) -> None:
    with pytest.raises(InvalidInput):
        await ask(services, "Who?", namespaces=[name])
    assert (await ask(services, "Who is Virginia Woolf?"))["documents"]


async def test_a_namespace_named_twice_counts_once(services: Services) -> None:
    state = await ask(services, "Who?", namespaces=["default", "nameless", "default"])
    assert state["request"]["namespaces"] == ["default", "nameless"]


async def test_an_llm_that_is_required_and_missing_is_refused(services: Services) -> None:
    with pytest.raises(InvalidInput, match=r"extraction=llm needs a chat model.*CLEW_CHAT_MODEL"):
        await ask(services, "Who?", patient(extraction="llm"))


@pytest.mark.parametrize(
    "asked",
    [
        {"filters": {"date_from": "yesterday"}},
        {"filters": {"owner": "me"}},
        {"namespaces": "default"},
    ],
)
async def test_fields_that_do_not_exist_or_do_not_fit_are_refused(
    services: Services, asked: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        await ask(services, "Who?", **asked)


async def test_a_day_that_is_on_no_calendar_is_the_callers_mistake(services: Services) -> None:
    with pytest.raises(InvalidInput):
        await ask(services, "Who?", filters={"date_from": "2024-02-31"})


@pytest.mark.parametrize(
    ("namespace", "mode", "shut", "plan", "reason"),
    [
        ("default", "hybrid", False, "hybrid", "the namespaces hold entities"),
        ("default", "search_only", False, "search_only", "the caller asked for search only"),
        ("nameless", "hybrid", False, "search_only", "the namespaces hold no entities"),
        ("default", "hybrid", True, "search_only", "circuit of the graph database is open"),
    ],
)
async def test_the_plan_says_why(
    services: Services, namespace: str, mode: Any, shut: bool, plan: str, reason: str
) -> None:
    guarded = replace(services, graph_breaker=breaker(is_open=shut))
    state = await ask(guarded, "Who?", patient(mode=mode), namespaces=[namespace])
    assert state["plan"]["mode"] == plan
    assert reason in state["plan"]["reason"]


async def test_after_its_time_an_open_circuit_is_tried_again(services: Services) -> None:
    now = 0.0
    made = Breaker("graph database", failures=(StoreUnavailable,), threshold=1, clock=lambda: now)
    with pytest.raises(StoreUnavailable):
        async with made.call():
            raise gone()
    shut = replace(services, graph_breaker=made)
    assert (await ask(shut, "Who is Virginia Woolf?"))["plan"]["mode"] == "search_only"
    now = 31.0
    assert (await ask(shut, "Who is Virginia Woolf?"))["plan"]["mode"] == "hybrid"
    assert made.state == "closed"


async def test_a_database_that_is_gone_at_the_door_ends_the_run(services: Services) -> None:
    broken = replace(services, entities=Faulty(services.entities, stats=fails(gone())))
    with pytest.raises(StoreUnavailable):
        await ask(broken, "Who is Virginia Woolf?")


async def test_filters_hold_for_every_passage_whichever_way_it_came(services: Services) -> None:
    pages = [
        {"id": "a", "title": "Ada", "text": "Ada Lovelace met Charles Babbage.", "category": "in"},
        {
            "id": "b",
            "title": "Babbage",
            "text": "Charles Babbage built engines.",
            "category": "out",
        },
    ]
    await ingest(services, pages, namespace="filtered")
    state = await ask(
        services, "Ada Lovelace?", namespaces=["filtered"], filters={"category": ["in"]}
    )
    assert {d.metadata["category"] for d in state["documents"]} == {"in"}
