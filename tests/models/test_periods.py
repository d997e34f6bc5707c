"""Which days the words for a period mean."""

from __future__ import annotations

from datetime import date

import pytest

from clew.models.periods import find_period, period_of, years_before

TODAY = date(2026, 11, 22)
"""A Sunday."""


def span(text: str) -> tuple[str | None, str | None] | None:
    found = period_of(text, today=TODAY)
    return (found["date_from"], found["date_to"]) if found else None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("1987", "1987-01-01", "1987-12-31"),
        ("May 1968", "1968-05-01", "1968-05-31"),
        ("Feb. 2024", "2024-02-01", "2024-02-29"),
        ("3 May 1968", "1968-05-03", "1968-05-03"),
        ("May 3rd, 1968", "1968-05-03", "1968-05-03"),
        ("the 3rd of May 1968", "1968-05-03", "1968-05-03"),
        ("1968-05-03", "1968-05-03", "1968-05-03"),
        ("1968-05", "1968-05-01", "1968-05-31"),
        ("the summer of 1968", "1968-01-01", "1968-12-31"),
    ],
)
def test_a_year_a_month_a_day(text: str, first: str, last: str) -> None:
    assert span(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("in the 1980s", "1980-01-01", "1989-12-31"),
        ("the eighties", "1980-01-01", "1989-12-31"),
        ("80s", "1980-01-01", "1989-12-31"),
        ("the '60s", "1960-01-01", "1969-12-31"),
        ("the early eighties", "1980-01-01", "1983-12-31"),
        ("mid 1980s", "1983-01-01", "1986-12-31"),
        ("the late 1980s", "1986-01-01", "1989-12-31"),
        ("the twenties", "1920-01-01", "1929-12-31"),
        ("the 2000s", "2000-01-01", "2009-12-31"),
        ("the 1800s", "1800-01-01", "1899-12-31"),
        ("the nineteenth century", "1801-01-01", "1900-12-31"),
        ("19th century", "1801-01-01", "1900-12-31"),
        ("the late 19th century", "1861-01-01", "1900-12-31"),
        ("the twenty-first century", "2001-01-01", "2100-12-31"),
    ],
)
def test_decades_and_centuries_are_whole(text: str, first: str, last: str) -> None:
    assert span(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("between 1990 and 1995", "1990-01-01", "1995-12-31"),
        ("between 1995 and 1990", "1990-01-01", "1995-12-31"),
        ("from May 1968 to 1970", "1968-05-01", "1970-12-31"),
        ("from 1990 until the 2000s", "1990-01-01", "2009-12-31"),
        ("1990-1995", "1990-01-01", "1995-12-31"),
        ("1990–95", "1990-01-01", "1995-12-31"),
        ("in the 80s and 90s", "1980-01-01", "1999-12-31"),
        ("after 1990 and before 1995", "1991-01-01", "1994-12-31"),
    ],
)
def test_ranges_hold_both_their_ends(text: str, first: str, last: str) -> None:
    assert span(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("since 1999", "1999-01-01", None),
        ("from 1990 onwards", "1990-01-01", None),
        ("after May 1968", "1968-06-01", None),
        ("before 1950", None, "1949-12-31"),
        ("prior to the 19th century", None, "1800-12-31"),
        ("until 1950", None, "1950-12-31"),
        ("by 1950", None, "1950-12-31"),
    ],
)
def test_one_end_may_be_open(text: str, first: str | None, last: str | None) -> None:
    assert span(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("last year", "2025-01-01", "2025-12-31"),
        ("this week", "2026-11-16", "2026-11-22"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("last decade", "2010-01-01", "2019-12-31"),
        ("last century", "1901-01-01", "2000-12-31"),
        ("the past decade", "2016-11-22", "2026-11-22"),
        ("the last ten years", "2016-11-22", "2026-11-22"),
        ("the past 3 months", "2026-08-22", "2026-11-22"),
        ("two years ago", "2024-01-01", "2024-12-31"),
        ("20 years ago", "2006-01-01", "2006-12-31"),
        ("recently", "2021-11-22", "2026-11-22"),
        ("yesterday", "2026-11-21", "2026-11-21"),
    ],
)
def test_what_is_counted_from_today(text: str, first: str, last: str) -> None:
    assert span(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "in May",
        "in her thirties",
        "a man in his 80s",
        "1,500 people",
        "1200 BC",
        "the 3rd century BC",
        "the 45th century",
        "version 1987.2",
        "R1987",
    ],
)
def test_what_names_no_period(text: str) -> None:
    assert span(text) is None


def test_the_words_come_with_what_opens_them() -> None:
    found = find_period("Whom did she meet between 1990 and 1995, and why?", today=TODAY)
    assert found is not None
    assert found.words == "between 1990 and 1995"
    assert found.start == len("Whom did she meet ")


def test_of_two_periods_the_first_counts() -> None:
    assert span("What happened in 1950 to those who came back in 1980?") == (
        "1950-01-01",
        "1950-12-31",
    )


def test_years_are_counted_back_from_a_leap_day() -> None:
    assert years_before(date(2024, 2, 29), 1) == date(2023, 2, 28)
    assert years_before(date(2024, 2, 29), 4) == date(2020, 2, 29)
