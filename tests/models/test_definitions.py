"""The name that opens a text and that its first sentence defines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.models.definitions import definition


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Alice is a film.", "Alice"),
        ("The Goose Woman is a 1925 film.", "The Goose Woman"),
        ("The Salzkammergut is a resort area.", "The Salzkammergut"),
        ("Rachel Feldman( born August 22, 1954) is an American director.", "Rachel Feldman"),
        ("J. R. R. Tolkien (1892–1973) was an English writer.", "J. R. R. Tolkien"),
        ('" Live" is a 1967 song.', "Live"),
        ("In Search of a Song is a 1971 album.", "In Search of a Song"),
        ("One More Time is a 2015 drama film.", "One More Time"),
        ("Love, Honor and Oh Baby! is a comedy.", "Love, Honor and Oh Baby!"),
        ("Good, West Virginia, is a town.", "Good, West Virginia"),
        ("Bernhard V, Prince of Anhalt (died 1420) was a prince.", "Bernhard V"),
        ("Adolf I of Lotharingia, count of Keldachgau, was a son of Hermann.",
         "Adolf I of Lotharingia"),
        ("The Holy Land refers to a region.", "The Holy Land"),
        ("A breakwater is a structure that protects a harbour.", "breakwater"),
        ("A proprietary colony was a type of colony.", "proprietary colony"),
        ("Matter of fact is a kind of knowledge.", None),
        ("Feral chickens are the descendants of domestic ones.", "Feral chickens"),
    ],
)  # fmt: skip
def test_a_first_sentence_defines_a_name(text: str, name: str | None) -> None:
    found = definition(text)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is a film. Alice is another.",
        "He was a king.",
        "There are two parts of the film.",
        "In 1995 the Rank Group was a shareholder.",
        "The film was a success.",
        "The climate of Islamabad was pleasant.",
        "His birthday was the anniversary of a death.",
        "Early attempts were a failure.",
        "Wayne Gretzky scored his 50th goal. Scoring is an art.",
        "They met Alice, who left.",
    ],
)
def test_other_openings_define_nothing(text: str) -> None:
    assert definition(text) is None


@pytest.mark.parametrize(
    ("text", "aliases"),
    [
        ("Moya Brennan, born Máire Ní Bhraonáin, also known as Máire Brennan (born 4 August 1952), "
         "is a singer.", ("Máire Ní Bhraonáin", "Máire Brennan")),
        ("Never the Twain (Czech: Velbloud uchem jehly) is a film.", ("Velbloud uchem jehly",)),
        ('Kill or Be Killed( also known as" Ringo" and" Kill or Die") is a film.',
         ("Ringo", "Kill or Die")),
        ("Næste Stop Paradis or Next Stop Paradise is a film.", ("Next Stop Paradise",)),
        ("Leovino Austria, better known by his stage name Leo or simply El Leo, is a singer.",
         ("Leo", "El Leo")),
        ("Bernhard V, Prince of Anhalt, was a prince.", ("Bernhard V, Prince of Anhalt",)),
        ('Leonard Francis "Len" Worley (born 1937) was a footballer.',
         ("Len Worley", "Leonard Francis Worley", "Leonard Francis")),
        ("Stephen Carpenter, born in Weatherford, Texas, is a writer.", ()),
        ("Judith Blish (née Lawrence; born March 1940) is a writer.", ()),
    ],
)  # fmt: skip
def test_what_the_text_says_it_is_called_too_is_an_alias(
    text: str, aliases: tuple[str, ...]
) -> None:
    found = definition(text)
    assert found
    assert found.aliases == aliases


def test_somebody_may_be_meant_by_one_first_name_or_the_surname() -> None:
    found = definition("Sir Ernst Ingmar Bergman KBE (1918 – 2007) was a Swedish director.")
    assert found
    assert found.variants == ("Ernst Ingmar Bergman", "Ernst Bergman", "Ingmar Bergman")
    assert found.surname == "Bergman"


def test_what_was_not_born_has_no_surname() -> None:
    found = definition("Sierra Nevada is a range.")
    assert found
    assert (found.variants, found.surname) == ((), "")


def test_an_article_or_a_life_makes_it_surer() -> None:
    for text, confidence in (
        ("Ann Berg is a writer.", 0.9),
        ("Ann Berg (1901–1970) was queen.", 0.9),
        ("Ann Berg was queen.", 0.8),
    ):
        found = definition(text)
        assert found
        assert found.confidence == confidence


@given(st.text(alphabet="Ab c(),.;:\"'is wasorthe1\n-", max_size=120))
def test_any_text_is_read_and_no_name_is_empty(text: str) -> None:
    if found := definition(text):
        assert all(name.strip() for name in (found.name, *found.aliases, *found.variants))
