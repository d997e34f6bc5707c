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


@given(st.integers(0, 10**9), st.sampled_from(["titled", "titles", "shared"]))
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


def test_a_source_that_is_not_among_the_good_ones_lends_nothing() -> None:
    titled, linked = link_signals([link("titled", source=77)], {1: 1.0})
    assert titled.get(2, 0.0) == linked.get(2, 0.0) == 0.0
    assert link_signals([], {1: 1.0}) == ({}, {})
