"""What kind of connection a question asks for, read off its words."""

from __future__ import annotations

from datetime import date

import pytest

from clew.models.intents import LEAST_CONFIDENCE, Reading, read_question
from clew.models.names import normalise
from clew.models.places import PLACES

TODAY = date(2026, 11, 22)


def read(question: str) -> Reading:
    return read_question(question, today=TODAY)


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Tell me about Jim's family", "relational"),
        ("What happened in the 1980s?", "temporal"),
        ("Stories about Chicago", "spatial"),
        ("Tell me more about the cabin", "entity_focused"),
        ("What else can you tell me?", "general"),
        ("Did grandma know Uncle Jim?", "cross_namespace"),
    ],
)
def test_the_examples_of_the_record(question: str, intent: str) -> None:
    assert read(question).intent == intent


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Who worked with Ada Lovelace?", "relational"),
        ("Who wrote Prelude?", "relational"),
        ("Where was the wife of Lou Breslow born?", "relational"),
        ("Who is the mother of the director of film Fortunella?", "relational"),
        ("How are Lou Breslow and Marion Byron connected?", "relational"),
        ("Who was my grandfather's boss between 1990 and 1995?", "relational"),
        ("When was the bridge built?", "temporal"),
        ("In what year did the mill close?", "temporal"),
        ("What did Jim do after the war?", "temporal"),
        ("What was life like in the nineteenth century?", "temporal"),
        ("what did jim do in 1987", "temporal"),
        ("Who was born earlier, Anthony Burns or Oskar Drobne?", "temporal"),
        ("Where is the mill?", "spatial"),
        ("Which city did they move to?", "spatial"),
        ("stories from chicago", "spatial"),
        ("What is the place of burial of Sultan Cem?", "spatial"),
        ("Who is Marie Curie?", "entity_focused"),
        ("What is LangGraph?", "entity_focused"),
        ("Tell me everything about Katherine Mansfield", "entity_focused"),
        ("Describe the Hogarth Press.", "entity_focused"),
        ("Did Katherine Mansfield ever meet Virginia Woolf?", "cross_namespace"),
        ("What is said about Einstein across the archives?", "cross_namespace"),
        ("Is Turing mentioned in both collections?", "cross_namespace"),
        ("", "general"),
        ("?", "general"),
        ("help me write a poem", "general"),
        ("Why is the sky blue?", "general"),
        ("Tell me about it", "general"),
    ],
)
def test_each_intent_is_told_by_its_words(question: str, intent: str) -> None:
    assert read(question).intent == intent


def test_an_intent_is_never_surer_than_certain_and_general_is_unsure() -> None:
    sure = read("Who is the mother of the wife of the father of Jim's brother, the author?")
    assert LEAST_CONFIDENCE < sure.confidence <= 1
    unsure = read("Who lived in Richmond?")
    assert unsure.intent == "general"
    assert 0 < unsure.confidence < LEAST_CONFIDENCE
    assert read("hello").confidence == 0


def test_a_rival_intent_costs_confidence() -> None:
    alone = read("Who was the wife of Lou Breslow?")
    rivalled = read("Where was the wife of Lou Breslow born?")
    assert (alone.intent, rivalled.intent) == ("relational", "relational")
    assert rivalled.confidence < alone.confidence


def test_the_period_is_found_with_its_words() -> None:
    found = read("What did we do last year in Italy?")
    assert found.time == "last year"
    assert found.period == {"date_from": "2025-01-01", "date_to": "2025-12-31"}


@pytest.mark.parametrize(
    "question",
    [
        "Which 1999 film was directed by Roman Polanski?",
        "Who won the 1966 World Cup?",
        'Who sings "Summer of 1969"?',
        "Who was Elizabeth Capell (1704-1784)?",
    ],
)
def test_a_year_that_only_describes_is_no_period(question: str) -> None:
    assert read(question).period is None


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Stories about Chicago", "Chicago"),
        ("what happened in new york city?", "new york city"),
        ("Who lived in Brumblethorpe?", "Brumblethorpe"),
        ("What happened to Jim in Italy?", "Italy"),
        ("Who is Jim?", None),
        ("Who met Jim Chicago?", None),
    ],
)
def test_the_place_is_a_known_one_or_stands_after_in_or_at(
    question: str, place: str | None
) -> None:
    assert read(question).place == place


def test_a_page_is_not_read_as_a_question() -> None:
    page = "Who is the mother of Jim? " * 100
    assert read(page) == Reading("general", 0.0, None, None, None)


def test_places_are_compared_as_names_are() -> None:
    assert {normalise(place) for place in PLACES} == PLACES
