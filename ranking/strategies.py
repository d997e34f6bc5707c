"""Three ways to turn a passage's signals into its score, with one interface.

Each takes the signals of all candidates and returns the parts of their scores, whose sum the score
is; a part says what the strategy made of a signal and how much that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from typing_extensions import TypedDict

from .fusion import Scores, minmax, reciprocal_rank, zscores

__all__ = ["RANKINGS", "SCALES", "STRATEGIES", "Part", "Shares", "first_stage", "shares", "total"]

Signals = Mapping[str, Any]


class Part(NamedTuple):
    """One signal of all candidates: what the strategy made of it, and its weight."""

    scaled: Scores
    weight: float

    @property
    def added(self) -> Scores:
        """What it adds to each candidate's score."""
        return self.scaled * self.weight


Parts = dict[str, Part]

RANKINGS = ("dense", "bm25", "graph")
"""Signals that also rank: `dense_rank` is a passage's place in the search that `dense` scores."""

FIRST_STAGE = {"dense": 0.6, "bm25": 0.3, "graph": 0.7, "title": 0.3}
"""Before links are known. Like the weights in `FusionWeights`, chosen on development questions."""

NAMED_BONUS = 0.2
BOTH_BONUS = 0.15


def first_stage(signals: Sequence[Signals]) -> Scores:
    """A score in [0, 1] from the signals known before links: who may lend a link its worth."""
    return minmax(total(_weighted(signals, FIRST_STAGE)))


def fused(signals: Sequence[Signals], weights: Mapping[str, float], rrf_k: int) -> Parts:
    """The sum of weighted z-scores of all signals that have a weight."""
    del rrf_k
    return _weighted(signals, weights)


def rrf(signals: Sequence[Signals], weights: Mapping[str, float], rrf_k: int) -> Parts:
    """Reciprocal rank fusion of the vector, BM25 and graph rankings, unweighted."""
    del weights
    parts = {}
    for name in RANKINGS:
        ranked = [(s[f"{name}_rank"], i) for i, s in enumerate(signals) if s[f"{name}_rank"]]
        scores = reciprocal_rank([[i for _, i in sorted(ranked)]], rrf_k)
        parts[name] = Part(np.array([scores.get(i, 0.0) for i in range(len(signals))]), 1.0)
    return parts


def additive(signals: Sequence[Signals], weights: Mapping[str, float], rrf_k: int) -> Parts:
    """The best of cosine and walk, where walk = hop factor × relation weight, + 0.2 when named.

    A passage found both by search and through the graph gains 0.15.
    """
    del weights, rrf_k
    searched = np.array([bool(s["dense_rank"] or s["bm25_rank"]) for s in signals], dtype=bool)
    search = np.where(searched, [s["dense"] for s in signals], 0.0)
    walk = np.array([s["walk"] for s in signals])
    named = np.array([float(s["named"]) for s in signals])
    walked = search <= walk + NAMED_BONUS * named
    return {
        "dense": Part(np.where(walked, 0.0, search), 1.0),
        "walk": Part(np.where(walked, walk, 0.0), 1.0),
        "named": Part(np.where(walked, named, 0.0), NAMED_BONUS),
        "both": Part((searched & (walk > 0)).astype(float), BOTH_BONUS),
    }


STRATEGIES: Mapping[str, Callable[[Sequence[Signals], Mapping[str, float], int], Parts]] = {
    "fused": fused,
    "rrf": rrf,
    "additive": additive,
}

SCALES = {"fused": "z-score", "rrf": "1/(k+rank)", "additive": "counted"}
"""What `Part.scaled` is under each strategy, for people."""


def total(parts: Parts) -> Scores:
    """Each candidate's score."""
    scores: Scores = np.sum([part.added for part in parts.values()], axis=0)
    return scores


class Shares(TypedDict):
    """What the parts are for one candidate, by signal."""

    scaled: dict[str, float]
    weights: dict[str, float]
    contributions: dict[str, float]


def shares(parts: Parts, index: int) -> Shares:
    """One candidate's share of each part, to six decimals."""
    return Shares(
        scaled={name: round(float(part.scaled[index]), 6) for name, part in parts.items()},
        weights={name: part.weight for name, part in parts.items()},
        contributions={name: round(float(part.added[index]), 6) for name, part in parts.items()},
    )


def _weighted(signals: Sequence[Signals], weights: Mapping[str, float]) -> Parts:
    return {
        name: Part(zscores([s[name] for s in signals]), weight) for name, weight in weights.items()
    }
