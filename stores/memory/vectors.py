"""Vectors as they are kept, at half precision, and compared, at double."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from ..protocols import Vector

__all__ = ["Half", "cosine", "half", "question_vector"]

Half = NDArray[np.float64]
"""What half precision leaves of a vector, widened to be computed with."""


def half(vector: Vector) -> Half:
    """What is kept of a vector."""
    return vector.astype(np.float16).astype(np.float64)


def question_vector(vector: Vector, dimension: int) -> Half:
    """A vector that is asked with. Raises `InvalidInput` when it can be compared with none."""
    if vector.shape != (dimension,):
        raise InvalidInput(
            f"The question's vector has {vector.size} dimensions; the model of this store makes "
            f"{dimension}."
        )
    if not np.isfinite(vector).all():
        raise InvalidInput("The question's vector has an element that is not a number.")
    return half(vector)


def cosine(one: Half, other: Half) -> float:
    """In [-1, 1]; 0 when one of them has no direction."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.clip(one @ other / lengths, -1.0, 1.0)) if lengths else 0.0
