"""Three ways from signals to a score; each score is the sum of what its parts added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clew.context import FusionWeights
from clew.ranking.fusion import zscores
from clew.ranking.strategies import (
    FIRST_STAGE,
    SCALES,
    STRATEGIES,
    Part,
    first_stage,
    shares,
    total,
)
from clew.stores.walk import HOP_FACTORS

WEIGHTS = FusionWeights().model_dump()


def signals(**given: Any) -> dict[str, Any]:
    numbers = dict.fromkeys(("dense", "bm25", "graph", "title", "titled", "link", "walk"), 0.0)
    ranks = dict.fromkeys(("dense_rank", "bm25_rank", "graph_rank"))
    return {**numbers, **ranks, "named": False, **given}


def scored(strategy: str, pool: list[dict[str, Any]], k: int = 60) -> list[float]:
    return [float(score) for score in total(STRATEGIES[strategy](pool, WEIGHTS, k))]


@pytest.fixture
def pool() -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    return [
        signals(
            dense=rng.random(), bm25=rng.random() * 20, graph=rng.random() / 50, walk=rng.random(),
            title=float(rng.integers(2)), titled=rng.random(), link=rng.random(),
            dense_rank=n + 1, bm25_rank=None if n % 2 else n + 1, graph_rank=30 - n,
        )
        for n in range(30)
    ]  # fmt: skip


def test_the_fused_score_is_the_sum_of_weighted_zscores(pool: list[dict[str, Any]]) -> None:
    expected = sum(
        weight * zscores([passage[name] for passage in pool]) for name, weight in WEIGHTS.items()
    )
    assert scored("fused", pool) == pytest.approx(np.asarray(expected).tolist())
    assert set(WEIGHTS) == {"dense", "bm25", "graph", "title", "titled", "link"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_shown_of_a_score_adds_up_to_it(strategy: str, pool: list[dict[str, Any]]) -> None:
    parts = STRATEGIES[strategy](pool, WEIGHTS, 60)
    for place, score in enumerate(scored(strategy, pool)):
        shown = shares(parts, place)
        assert shown["scaled"].keys() == shown["weights"].keys() == shown["contributions"].keys()
        assert sum(shown["contributions"].values()) == pytest.approx(score, abs=1e-5)
        for name, added in shown["contributions"].items():
            expected = shown["scaled"][name] * shown["weights"][name]
            assert added == pytest.approx(expected, abs=1e-5)
    assert strategy in SCALES


def test_a_part_adds_its_weight_times_what_the_strategy_made_of_it() -> None:
    assert Part(np.array([-1.0, 0.0, 3.0]), 0.5).added.tolist() == [-0.5, 0.0, 1.5]
    pool = [signals(dense=value) for value in (1.0, 1.0, 5.0, 5.0)]
    part = STRATEGIES["fused"](pool, WEIGHTS, 60)["dense"]
    assert part.scaled.tolist() == pytest.approx([-1, -1, 1, 1])
    assert part.weight == WEIGHTS["dense"]


@pytest.mark.parametrize("name", sorted(WEIGHTS))
def test_more_of_one_signal_never_lowers_the_fused_score(
    name: str, pool: list[dict[str, Any]]
) -> None:
    before = scored("fused", pool)
    raised = [{**pool[0], name: pool[0][name] + 0.5}, *pool[1:]]
    gain = scored("fused", raised)[0] - before[0]
    assert gain > 0


def test_reciprocal_ranks_add_over_vector_bm25_and_graph() -> None:
    pool = [
        signals(dense_rank=1, bm25_rank=2, graph_rank=1),
        signals(dense_rank=2, bm25_rank=1),
        signals(graph_rank=2),
        signals(),
    ]
    assert scored("rrf", pool) == pytest.approx(
        [1 / 61 + 1 / 62 + 1 / 61, 1 / 62 + 1 / 61, 1 / 62, 0.0]
    )
    assert scored("rrf", pool, k=1)[3] == 0.0
    assert scored("rrf", pool, k=1)[0] == pytest.approx(1 / 2 + 1 / 3 + 1 / 2)


def test_the_additive_walk_is_hop_factor_times_weight_and_a_bonus_for_the_named() -> None:
    assert HOP_FACTORS[1:] == (1.0, 0.6, 0.3), "the records' factors"
    weight = 0.8
    walks = [hop * weight for hop in HOP_FACTORS[1:]]
    pool = [signals(walk=walk, graph_rank=n) for n, walk in enumerate(walks, start=1)]
    pool += [signals(walk=walk, graph_rank=9, named=True) for walk in walks]
    assert scored("additive", pool) == pytest.approx(
        [0.8, 0.48, 0.24, 0.8 + 0.2, 0.48 + 0.2, 0.24 + 0.2]
    )


@pytest.mark.parametrize("rank", ["dense_rank", "bm25_rank"])
def test_found_both_ways_is_the_better_score_and_a_bonus(rank: str) -> None:
    pool = [
        signals(dense=0.7, walk=0.5, **{rank: 3}),
        signals(dense=0.4, walk=0.5, **{rank: 4}),
        signals(dense=0.4, walk=0.3, named=True, **{rank: 5}),
        signals(dense=0.7, **{rank: 6}),
        signals(dense=0.9, walk=0.5),
    ]
    assert scored("additive", pool) == pytest.approx(
        [0.7 + 0.15, 0.5 + 0.15, 0.3 + 0.2 + 0.15, 0.7, 0.5]
    )
    parts = STRATEGIES["additive"](pool, WEIGHTS, 60)
    added = {name: part.added.tolist() for name, part in parts.items()}
    assert added["dense"] == pytest.approx([0.7, 0, 0, 0.7, 0]), "where the search is better"
    assert added["walk"] == pytest.approx([0, 0.5, 0.3, 0, 0.5]), "where the walk is"
    assert added["named"] == pytest.approx([0, 0, 0.2, 0, 0])
    assert added["both"] == pytest.approx([0.15, 0.15, 0.15, 0, 0])


def test_the_first_stage_lies_between_zero_and_one_in_the_order_of_its_parts(
    pool: list[dict[str, Any]],
) -> None:
    stage = first_stage(pool)
    assert (stage.min(), stage.max()) == (0.0, 1.0)
    raw = sum(w * zscores([p[name] for p in pool]) for name, w in FIRST_STAGE.items())
    assert np.argsort(stage).tolist() == np.argsort(raw).tolist()
    assert not {"titled", "link"} & FIRST_STAGE.keys(), "links are not known yet"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_to_rank_is_no_trouble(strategy: str) -> None:
    assert first_stage([]).size == len(scored(strategy, [])) == 0
    assert all(part.added.size == 0 for part in STRATEGIES[strategy]([], WEIGHTS, 60).values())
    assert first_stage([signals()]).tolist() == [1.0]
