"""The measures against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from clew.evaluation.measures import MEASURES, PRECISION, percentiles, precision, quality


def test_measures_of_rankings_worked_out_by_hand() -> None:
    """Gold at places 1 and 4 of three; then a ranking of the best kind, and one of nothing."""
    gold = {"some": ["a", "b", "c"], "all": ["a", "b"], "none": ["a"]}
    ranked = {"some": ["a", "x", "y", "b"], "all": ["b", "a"], "none": list[str]()}
    found = quality(gold, ranked)
    assert found["some"]["recall@2"] == pytest.approx(1 / 3)
    assert found["some"]["recall@5"] == pytest.approx(2 / 3)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["some"]["nDCG@10"] == pytest.approx((1 + 1 / math.log2(5)) / ideal)
    assert found["some"]["all-gold@5"] == 0.0
    assert set(found["all"].values()) == {1.0}
    assert set(found["none"].values()) == {0.0}
    assert {*found["all"], PRECISION} == set(MEASURES)


def test_what_comes_after_the_depth_of_a_measure_does_not_count() -> None:
    ranked = {"q": [*(f"x{place}" for place in range(9)), "a", *"bcdefghijk", "z"]}
    found = quality({"q": ["a", "z"]}, ranked)["q"]
    assert [found[f"recall@{k}"] for k in (2, 5, 10, 20)] == [0.0, 0.0, 0.5, 0.5]


def test_places_decide_and_not_names() -> None:
    """trec_eval breaks ties of scores by name, so no two places may have one score."""
    gold = {"q": ["m"]}
    for others in ("a", "z"):
        ranked = {"q": [*(f"{others}{place}" for place in range(4)), "m", f"{others}9"]}
        found = quality(gold, ranked)["q"]
        assert (found["recall@2"], found["recall@5"]) == (0.0, 1.0)


def test_precision_counts_passages_and_not_documents() -> None:
    assert precision(["a", "a", "x", "y"], ["a", "b"]) == 0.5
    assert precision([], ["a"]) == 0.0


def test_percentiles_of_a_hundred_and_one_values() -> None:
    assert percentiles(list(range(101))) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
