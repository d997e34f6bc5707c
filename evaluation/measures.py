"""How good a ranking is, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..stores.errors import InvalidInput

__all__ = ["DEPTH", "MEASURES", "PRECISION", "percentiles", "precision", "quality"]

DEPTHS = (2, 5, 10, 20)
DEPTH = max(DEPTHS)
"""How many documents of a ranking are looked at."""
PRECISION = "context-precision"
MEASURES = (*(f"recall@{k}" for k in DEPTHS), "nDCG@10", "all-gold@5", PRECISION)
"""What `--at-least` may name; each in [0, 1]."""


def quality(
    gold: Mapping[str, Sequence[str]], ranked: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """The measures of each question's ranking, by question id, from trec_eval.

    `recall@k` is the share of gold among the first k, `nDCG@10` has binary relevance (Järvelin and
    Kekäläinen, "Cumulated Gain-Based Evaluation of IR Techniques", 2002), `all-gold@5` is 1 when
    `recall@5` is.
    """
    try:
        from pytrec_eval import RelevanceEvaluator
    except ImportError as error:
        raise InvalidInput(
            "`clew eval` needs pytrec-eval-terrier; pip install 'clew[eval]'."
        ) from error
    relevant = {key: dict.fromkeys(wanted, 1) for key, wanted in gold.items()}
    # trec_eval orders by score, the highest first.
    scores = {
        key: {document: -float(place) for place, document in enumerate(ranked[key])} for key in gold
    }
    wanted = {f"recall.{','.join(map(str, DEPTHS))}", "ndcg_cut.10"}
    found = RelevanceEvaluator(relevant, wanted).evaluate(scores)
    return {
        key: {
            **{f"recall@{k}": one[f"recall_{k}"] for k in DEPTHS},
            "nDCG@10": one["ndcg_cut_10"],
            "all-gold@5": float(one["recall_5"] == 1.0),
        }
        for key, one in found.items()
    }


def precision(cited: Sequence[str], gold: Sequence[str]) -> float:
    """The share of the cited passages' documents that are gold, in [0, 1]; 0 when none is cited."""
    return sum(key in gold for key in cited) / len(cited) if cited else 0.0


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The 50th, 95th and 99th percentile."""
    p50, p95, p99 = np.percentile(np.asarray(values), [50, 95, 99]).tolist()
    return {"p50": p50, "p95": p95, "p99": p99}
