"""The interval of a difference is what theory says, and pairs are kept together."""

from __future__ import annotations

import numpy as np
import pytest

from clew.evaluation.bootstrap import difference


def test_the_interval_is_near_the_normal_one_for_many_questions() -> None:
    """By the central limit theorem: the mean ± 1.96 standard errors."""
    each = np.tile([0.0, 0.0, 0.5, -0.25, 1.0], 80)
    found = difference(np.zeros(400).tolist(), each.tolist())
    error = 1.96 * each.std() / 20
    assert found.mean == pytest.approx(0.25)
    assert found.low == pytest.approx(0.25 - error, abs=0.005)
    assert found.high == pytest.approx(0.25 + error, abs=0.005)
    assert found.counts


def test_pairing_makes_a_small_steady_gain_count_where_questions_differ_widely() -> None:
    """Two independent samples of these values would overlap almost wholly."""
    before = [place / 50 for place in range(50)]
    found = difference(before, [value + 0.01 for value in before])
    assert found.low == pytest.approx(0.01)
    assert found.high == pytest.approx(0.01)
    assert found.counts


def test_a_gain_that_one_question_makes_does_not_count() -> None:
    found = difference([0.0] * 20, [1.0] + [0.0] * 19)
    assert found.low == 0.0
    assert not found.counts


def test_the_same_answers_give_the_same_interval() -> None:
    before, after = [0.0, 0.5, 1.0, 0.5], [0.5, 0.5, 0.5, 1.0]
    assert difference(before, after) == difference(before, after)


def test_one_question_has_no_interval() -> None:
    found = difference([0.0], [1.0])
    assert (found.mean, found.low, found.high) == (1.0, None, None)
    assert not found.counts
