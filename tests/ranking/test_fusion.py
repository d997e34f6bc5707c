"""Fusing scores and ranks: hand-computed numbers and what must hold for any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ranking.fusion import HIGHEST, LOWEST, POOL, minmax, reciprocal_rank, zscores

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80)


def test_a_zscore_is_the_distance_from_the_mean_in_deviations() -> None:
    assert zscores([1.0, 1.0, 1.0, 5.0]).tolist() == pytest.approx(
        [-(3**-0.5), -(3**-0.5), -(3**-0.5), 3**0.5]
    )


def test_equal_scores_say_nothing() -> None:
    assert zscores([0.7] * 5).tolist() == [0.0] * 5
    assert zscores([]).tolist() == []


def test_the_long_tail_does_not_move_what_is_usual() -> None:
    best = [float(n) for n in range(POOL)]
    assert zscores([*best, *[-1.0] * 1000])[:POOL].tolist() == pytest.approx(zscores(best).tolist())


def test_one_giant_is_clipped_and_a_silent_signal_costs_one_deviation_at_most() -> None:
    scores = zscores([0.0] * 49 + [1e9])
    assert scores.max() == HIGHEST
    far = [1.0, 1.1] * (POOL // 2) + [-1e9]
    assert zscores(far).min() == LOWEST


@given(numbers)
def test_zscores_keep_the_order_and_their_bounds(values: list[float]) -> None:
    scores = zscores(values)
    order = np.argsort(values, kind="stable")
    assert (np.diff(scores[order]) >= 0).all()
    assert LOWEST <= scores.min() <= scores.max() <= HIGHEST


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=50), st.integers(1, 9))
def test_zscores_do_not_depend_on_the_scale(values: list[int], factor: int) -> None:
    scaled = zscores([value * factor + 3.0 for value in values])
    assert scaled.tolist() == pytest.approx(zscores([float(v) for v in values]).tolist())


@given(numbers)
def test_minmax_reaches_from_zero_to_one(values: list[float]) -> None:
    scores = minmax(np.array(values))
    assert scores.max() == 1.0
    assert scores.min() in (0.0, 1.0)
    assert minmax(np.zeros(0)).size == 0


def test_reciprocal_rank_fusion_by_hand() -> None:
    assert reciprocal_rank([[7, 8, 9], [9, 7]], 60) == pytest.approx(
        {7: 1 / 61 + 1 / 62, 8: 1 / 62, 9: 1 / 63 + 1 / 61}
    )
    assert reciprocal_rank([], 60) == {}


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=4), st.integers(1, 1000))
def test_the_order_of_the_rankings_does_not_matter(rankings: list[list[int]], k: int) -> None:
    assert reciprocal_rank(rankings, k) == pytest.approx(reciprocal_rank(rankings[::-1], k))


@given(st.permutations(range(8)), st.integers(1, 1000))
def test_one_ranking_keeps_its_order(ranking: list[int], k: int) -> None:
    scores = reciprocal_rank([ranking], k)
    assert sorted(scores, key=lambda item: -scores[item]) == ranking
