"""Three ways to turn a passage's signals into its score, with one interface.

Each takes the signals of all candidates and returns, for each in the same order, what every part
added; the score is their sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .fusion import Scores, minmax, reciprocal_rank, weighted

__all__ = ["STRATEGIES", "first_stage", "parts_of"]

Signals = Mapping[str, Any]
Parts = dict[str, Scores]

FIRST_STAGE = {"dense": 0.6, "bm25": 0.3, "graph": 0.7, "title": 0.3}
"""Before links are known. Like the weights in `FusionWeights`, chosen on development questions."""

NAMED_BONUS = 0.2
BOTH_BONUS = 0.15


def first_stage(signals: Sequence[Signals]) -> Scores:
    """A score in [0, 1] from the signals known before links: who may lend a link its worth."""
    columns = {name: [s[name] for s in signals] for name in FIRST_STAGE}
    parts = weighted(columns, FIRST_STAGE)
    return minmax(np.sum(list(parts.values()), axis=0)) if signals else np.zeros(0)


def fused(signals: Sequence[Signals], weights: Mapping[str, float], rrf_k: int) -> Parts:
    """The sum of weighted z-scores of all six signals."""
    del rrf_k
    return weighted({name: [s[name] for s in signals] for name in weights}, weights)


def rrf(signals: Sequence[Signals], weights: Mapping[str, float], rrf_k: int) -> Parts:
    """Reciprocal rank fusion of the vector, BM25 and graph rankings, unweighted."""
    del weights
    parts = {}
    for name in ("dense", "bm25", "graph"):
        ranked = [(s[f"{name}_rank"], i) for i, s in enumerate(signals) if s[f"{name}_rank"]]
        scores = reciprocal_rank([[i for _, i in sorted(ranked)]], rrf_k)
        parts[name] = np.array([scores.get(i, 0.0) for i in range(len(signals))])
    return parts


def additive(signals: Sequence[Signals], weights: Mapping[str, float], rrf_k: int) -> Parts:
    """The best of cosine and walk, where walk = hop factor × relation weight, + 0.2 when named.

    A passage found both by search and through the graph gains 0.15.
    """
    del weights, rrf_k
    search = np.array([s["dense"] if _searched(s) else 0.0 for s in signals])
    walk = np.array([s["walk"] + NAMED_BONUS * s["named"] for s in signals])
    both = np.array([BOTH_BONUS * (_searched(s) and s["walk"] > 0) for s in signals])
    return {
        "search": np.where(search > walk, search, 0.0),
        "walk": np.where(search > walk, 0.0, walk),
        "both": both,
    }


def _searched(signals: Signals) -> bool:
    return bool(signals["dense_rank"] or signals["bm25_rank"])


STRATEGIES: Mapping[str, Callable[[Sequence[Signals], Mapping[str, float], int], Parts]] = {
    "fused": fused,
    "rrf": rrf,
    "additive": additive,
}


def parts_of(parts: Parts, index: int) -> dict[str, float]:
    """What each part added to one candidate, rounded for people."""
    return {name: round(float(column[index]), 4) for name, column in parts.items()}
