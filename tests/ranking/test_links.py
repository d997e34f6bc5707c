"""What a link from a good passage is worth."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ranking.links import link_signals, link_strength
from clew.stores.records import PassageLink


def link(kind: Any = "shared", source: int = 1, target: int = 2, df: int = 2) -> PassageLink:
    return PassageLink(source=source, target=target, entity=5, name="X", df=df, kind=kind)


def test_a_mention_of_the_subject_is_worth_most_and_a_rare_name_more_than_a_common_one() -> None:
    assert link_strength(link("titled", df=9999)) == 1.0
    assert link_strength(link("titles", df=9999)) == 0.8
    shared = [link_strength(link(df=df)) for df in (2, 3, 7, 15)]
    assert shared == pytest.approx([1 / math.log2(df + 1) for df in (2, 3, 7, 15)])
    assert shared == sorted(shared, reverse=True)
    assert link_strength(link("titles")) > shared[0]


def test_a_name_like_the_subjects_is_worth_half_of_the_subject_however_common_it_is() -> None:
    assert link_strength(link("alike", df=2)) == link_strength(link("alike", df=9999)) == 0.5
    assert link_strength(link(df=2)) > 0.5, "a name that both mention, and hardly anybody else"
    assert link_strength(link(df=4)) < 0.5


@given(st.integers(0, 10**9), st.sampled_from(["titled", "titles", "shared", "alike"]))
def test_a_link_is_worth_something_and_at_most_its_source(df: int, kind: str) -> None:
    assert 0 < link_strength(link(kind, df=df)) <= 1


def test_the_best_link_to_a_passage_counts_and_they_do_not_add_up() -> None:
    links = [
        link("titled", source=1), link("titled", source=3), link("titles", source=4),
        link("shared", source=1, target=9, df=3), link("titles", source=3, target=9),
    ]  # fmt: skip
    titled, linked = link_signals(links, {1: 0.5, 3: 0.25, 4: 1.0})
    assert titled == {2: 0.5}
    assert linked == pytest.approx({2: 0.8, 9: 0.25})


def test_a_name_like_the_subjects_leads_to_what_the_passage_is_about_as_a_mention_does() -> None:
    alike = [link("alike", source=1), link("titles", source=1), link("alike", source=1, target=7)]
    titled, linked = link_signals(alike, {1: 0.5, 3: 0.4})
    assert titled == {2: 0.25, 7: 0.25}
    assert linked == pytest.approx({2: 0.4, 7: 0.25})
    # One more of them adds nothing; a mention of the subject itself counts for more.
    titled, _ = link_signals(
        [*alike, link("alike", source=3), link("titled", source=3)], {1: 0.5, 3: 0.4}
    )
    assert titled == {2: 0.4, 7: 0.25}


def test_a_source_that_is_not_among_the_good_ones_lends_nothing() -> None:
    titled, linked = link_signals([link("titled", source=77)], {1: 1.0})
    assert titled.get(2, 0.0) == linked.get(2, 0.0) == 0.0
    assert link_signals([], {1: 1.0}) == ({}, {})
