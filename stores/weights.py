"""What a relation weighs: how sure it is, how often it was seen, and how much that says."""

from __future__ import annotations

import math

from .records import CO_OCCURS

__all__ = ["LEAST", "npmi", "outgrown", "relation_weight"]

LEAST = 0.01
"""What a co-occurrence weighs at least: it was seen, so it can be walked."""


def relation_weight(
    kind: str, *, confidence: float, count: int, source_df: int, target_df: int, chunks: int
) -> float:
    """In (0, 1]: confidence × n / (n + 1) for the n = `count` chunks that bear the relation out.

    A co-occurrence is worth that times (1 + NPMI) / 2, at least `LEAST`: names that stand
    together because both stand everywhere hardly belong together. `source_df` and `target_df` of
    the namespace's `chunks` mention its ends, and n is at most the smaller. All of them are at
    least 1; PostgreSQL's `clew.relation_weight` is the same.
    """
    if kind != CO_OCCURS:
        return confidence * count / (count + 1)
    n = min(count, source_df, target_df)
    belonging = 1 + npmi(n, source_df, target_df, chunks)
    return max(LEAST, confidence * n / (n + 1) * belonging / 2)


def npmi(together: int, one: int, other: int, chunks: int) -> float:
    """Normalised pointwise mutual information of two names, from their counts of chunks.

    In [-1, 1]: -1 when they nearly avoid each other, 0 when they meet as often as chance has it,
    1 when neither stands alone. Bouma, "Normalized (Pointwise) Mutual Information in Collocation
    Extraction" (GSCL 2009).
    """
    if together >= chunks:
        return 1.0
    pmi = math.log(together * chunks / (one * other))
    return max(-1.0, min(1.0, pmi / -math.log(together / chunks)))


def outgrown(chunks: int, weighed: int) -> bool:
    """Whether a namespace that was weighed with so many chunks has grown or shrunk by a fifth."""
    return chunks != weighed and 5 * abs(chunks - weighed) >= weighed
