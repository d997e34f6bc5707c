"""The formula of a relation's weight, and when a namespace has outgrown its weights."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.stores.records import CO_OCCURS
from clew.stores.weights import npmi, outgrown, relation_weight

counts = st.integers(1, 10**9)
confidences = st.floats(1e-30, 1, exclude_min=True)


@settings(deadline=None, derandomize=True, database=None)
@given(st.sampled_from([CO_OCCURS, "MET"]), confidences, counts, counts, counts, counts)
def test_a_weight_lies_above_0_and_is_at_most_1_for_any_counts(
    kind: str, confidence: float, count: int, source_df: int, target_df: int, chunks: int
) -> None:
    weight = relation_weight(
        kind,
        confidence=confidence,
        count=count,
        source_df=source_df,
        target_df=target_df,
        chunks=chunks,
    )
    assert 0 < weight <= 1


@pytest.mark.parametrize(
    ("together", "one", "other", "chunks", "expected"),
    [
        (4, 4, 4, 1000, 1),
        (1, 10, 100, 1000, 0),
        (1, 1000, 1000, 1000, -1),
        (7, 7, 7, 7, 1),
        (10, 10, 100, 1000, 0.5),
    ],
    ids=["neither alone", "by chance", "both everywhere, met once", "nothing else", "half bound"],
)
def test_npmi_at_its_landmarks(
    together: int, one: int, other: int, chunks: int, expected: float
) -> None:
    assert npmi(together, one, other, chunks) == pytest.approx(expected, abs=1e-12)
    assert npmi(together, other, one, chunks) == pytest.approx(expected, abs=1e-12)


def test_npmi_is_what_its_definition_says() -> None:
    both, one, other = 3 / 50, 8 / 50, 5 / 50
    expected = math.log(both / (one * other)) / -math.log(both)
    assert npmi(3, 8, 5, 50) == pytest.approx(expected)


def weight(kind: str = CO_OCCURS, count: int = 3, df: int = 3, chunks: int = 300) -> float:
    return relation_weight(
        kind, confidence=0.8, count=count, source_df=df, target_df=df, chunks=chunks
    )


def test_only_co_occurrences_ask_how_common_their_ends_are() -> None:
    assert weight("MET", df=3) == weight("MET", df=250) == pytest.approx(0.8 * 3 / 4)
    assert weight(df=3) == pytest.approx(0.8 * 3 / 4)
    assert weight(df=3) > weight(df=30) > weight(df=250)


def test_names_meet_at_most_as_often_as_the_rarer_is_mentioned() -> None:
    assert weight(count=9) == weight(count=3)


@pytest.mark.parametrize(
    ("chunks", "weighed", "expected"),
    [
        (0, 0, False),
        (1, 0, True),
        (0, 1, True),
        (10, 10, False),
        (11, 10, False),
        (12, 10, True),
        (9, 10, False),
        (8, 10, True),
        (5_999_999, 5_000_000, False),
        (6_000_000, 5_000_000, True),
    ],
)
def test_a_fifth_more_or_fewer_chunks_outgrow_the_weights(
    chunks: int, weighed: int, expected: bool
) -> None:
    assert outgrown(chunks, weighed) is expected
