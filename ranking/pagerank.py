"""Personalised PageRank on the neighbourhood of a question: entities and their passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import coo_array

from ..stores.records import ReachedEntity

__all__ = ["passage_rank", "walked"]

RESTART = 0.3
ITERATIONS = 20


def passage_rank(
    mentions: Sequence[tuple[int, int]],
    relations: Sequence[tuple[int, int, float]],
    *,
    entity_degree: Mapping[int, float],
    passage_degree: Mapping[int, float],
    entity_seeds: Mapping[int, float],
    passage_seeds: Mapping[int, float],
) -> dict[int, float]:
    """How much of a walk that keeps returning to the seeds is spent in each passage, at least 0.

    `mentions` are (entity, passage) pairs, `relations` (entity, entity, weight). Degrees are those
    of the whole graph, so that what leads out of the neighbourhood is lost rather than handed to
    what happens to be in it. Seeds need not sum to 1.
    Haveliwala, "Topic-Sensitive PageRank" (2002).
    """
    entities = sorted({e for e, _ in mentions} | set(entity_seeds))
    passages = sorted({p for _, p in mentions} | set(passage_seeds))
    if not passages:
        return {}
    place = {("e", e): i for i, e in enumerate(entities)}
    place |= {("p", p): i + len(entities) for i, p in enumerate(passages)}
    size = len(place)

    rows: list[int] = []
    columns: list[int] = []
    weights: list[float] = []
    for entity, passage in mentions:
        pair = place["e", entity], place["p", passage]
        rows += pair
        columns += pair[::-1]
        weights += [1.0, 1.0]
    for source, target, weight in relations:
        if ("e", source) in place and ("e", target) in place:
            pair = place["e", source], place["e", target]
            rows += pair
            columns += pair[::-1]
            weights += [weight, weight]
    edges = coo_array(
        (np.array(weights), (np.array(rows, dtype=np.intp), np.array(columns, dtype=np.intp))),
        shape=(size, size),
    ).tocsr()

    degree = np.array(
        [entity_degree.get(e, 1.0) for e in entities]
        + [passage_degree.get(p, 1.0) for p in passages]
    )
    # A degree is never less than what is seen of it here: the walk must not gain mass.
    degree = np.maximum(np.maximum(degree, np.asarray(edges.sum(axis=0)).ravel()), 1.0)
    start = np.array(
        [entity_seeds.get(e, 0.0) for e in entities] + [passage_seeds.get(p, 0.0) for p in passages]
    )
    rank = start.copy()
    for _ in range(ITERATIONS):
        rank = (1 - RESTART) * (edges @ (rank / degree)) + RESTART * start
    return dict(zip(passages, rank[len(entities) :].tolist(), strict=True))


def walked(entities: Mapping[int, ReachedEntity]) -> list[tuple[int, int, float]]:
    """From each seed to what the walk reached from it: (seed, entity, path product in (0, 1])."""
    return [
        (entity["seed"], entity["id"], entity["score"] / entities[entity["seed"]]["score"])
        for entity in entities.values()
        if entity["hop"] > 0 and entity["seed"] in entities
    ]
