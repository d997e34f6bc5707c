"""Personalised PageRank against a dense power iteration and against graphs done by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ranking.pagerank import ITERATIONS, RESTART, passage_rank

ids = st.integers(0, 6)
mass = st.dictionaries(ids, st.floats(0, 1), max_size=4)
degrees = st.dictionaries(ids, st.floats(0, 12), max_size=7)
graphs = st.fixed_dictionaries(
    {
        "mentions": st.lists(st.tuples(ids, ids), max_size=14, unique=True),
        "relations": st.lists(st.tuples(ids, ids, st.floats(0.01, 1)), max_size=8),
        "entity_degree": degrees,
        "passage_degree": degrees,
        "entity_seeds": mass,
        "passage_seeds": mass,
    }
)


def ranked(**given_: Any) -> dict[int, float]:
    names = ("entity_degree", "passage_degree", "entity_seeds", "passage_seeds")
    full = {"mentions": [], "relations": [], **{name: {} for name in names}, **given_}
    return passage_rank(full.pop("mentions"), full.pop("relations"), **full)


def dense(
    mentions: list[tuple[int, int]],
    relations: list[tuple[int, int, float]],
    entity_degree: dict[int, float],
    passage_degree: dict[int, float],
    entity_seeds: dict[int, float],
    passage_seeds: dict[int, float],
) -> dict[int, float]:
    """The same walk with a full matrix, step by step."""
    entities = sorted({e for e, _ in mentions} | set(entity_seeds))
    passages = sorted({p for _, p in mentions} | set(passage_seeds))
    nodes = [("e", e) for e in entities] + [("p", p) for p in passages]
    weight = np.zeros((len(nodes), len(nodes)))

    def join(one: tuple[str, int], other: tuple[str, int], value: float) -> None:
        if one in nodes and other in nodes:
            weight[nodes.index(one), nodes.index(other)] += value
            weight[nodes.index(other), nodes.index(one)] += value

    for e, p in mentions:
        join(("e", e), ("p", p), 1.0)
    for a, b, w in relations:
        join(("e", a), ("e", b), w)
    known = {"e": entity_degree, "p": passage_degree}
    seeds = {"e": entity_seeds, "p": passage_seeds}
    out = np.array([known[kind].get(n, 1.0) for kind, n in nodes])
    out = np.maximum(np.maximum(out, weight.sum(axis=0)), 1.0)
    start = np.array([seeds[kind].get(n, 0.0) for kind, n in nodes])
    rank = start
    for _ in range(ITERATIONS):
        rank = (1 - RESTART) * weight @ (rank / out) + RESTART * start
    return {n: value for (kind, n), value in zip(nodes, rank, strict=True) if kind == "p"}


@given(graphs)
def test_it_equals_the_dense_power_iteration(graph: dict[str, Any]) -> None:
    assert ranked(**graph) == pytest.approx(dense(**graph), abs=1e-12)


@given(graphs)
def test_mass_never_grows_and_is_never_negative(graph: dict[str, Any]) -> None:
    scores = ranked(**graph)
    seeded = sum(graph["entity_seeds"].values()) + sum(graph["passage_seeds"].values())
    assert min(scores.values(), default=0.0) >= 0
    assert sum(scores.values()) <= seeded + 1e-9


def test_one_entity_and_one_passage_by_hand() -> None:
    (score,) = ranked(mentions=[(1, 10)], entity_seeds={1: 1.0}).values()
    # Between two nodes the walk's limit solves p = 0.7 e, e = 0.7 p + 0.3.
    limit = 0.7 * 0.3 / (1 - 0.49)
    assert score == pytest.approx(limit, abs=0.7**ITERATIONS)


def test_of_two_passages_that_share_an_entity_each_gets_half() -> None:
    scores = ranked(mentions=[(1, 10), (1, 11)], entity_seeds={1: 1.0})
    assert scores[10] == pytest.approx(scores[11])
    # e = 0.7 (p + q) + 0.3 with p = q = 0.35 e
    assert scores[10] == pytest.approx(0.35 * 0.3 / (1 - 0.49), abs=0.7**ITERATIONS)


def test_what_leads_out_of_the_neighbourhood_is_lost() -> None:
    inside = ranked(mentions=[(1, 10)], entity_seeds={1: 1.0})
    outside = ranked(mentions=[(1, 10)], entity_seeds={1: 1.0}, entity_degree={1: 100.0})
    assert outside[10] < inside[10] / 50


def test_a_rare_entity_says_more_than_a_common_one() -> None:
    scores = ranked(
        mentions=[(1, 10), (2, 11)],
        entity_seeds={1: 0.5, 2: 0.5},
        entity_degree={1: 2.0, 2: 50.0},
    )
    assert scores[10] > 10 * scores[11]


def test_a_passage_nobody_leads_to_gets_nothing() -> None:
    scores = ranked(mentions=[(1, 10), (2, 11)], entity_seeds={1: 1.0})
    assert scores[11] == 0.0
    assert scores[10] > 0


def test_a_relation_carries_the_walk_to_the_other_ends_passages() -> None:
    mentions = [(1, 10), (2, 11)]
    scores = ranked(mentions=mentions, relations=[(1, 2, 0.5)], entity_seeds={1: 1.0})
    assert 0 < scores[11] < scores[10]
    elsewhere = ranked(mentions=mentions, relations=[(1, 9, 0.5)], entity_seeds={1: 1.0})
    assert elsewhere[11] == 0.0


def test_without_passages_there_is_nothing_to_rank() -> None:
    assert ranked(entity_seeds={1: 1.0}) == {}


def test_seeds_need_not_sum_to_one() -> None:
    mentions = [(1, 10), (2, 10), (2, 11)]
    once = ranked(mentions=mentions, entity_seeds={1: 1.0}, passage_seeds={11: 0.2})
    twice = ranked(mentions=mentions, entity_seeds={1: 2.0}, passage_seeds={11: 0.4})
    assert twice == pytest.approx({p: 2 * score for p, score in once.items()})
