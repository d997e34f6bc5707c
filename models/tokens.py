"""How many tokens a context will cost the model that reads it."""

from __future__ import annotations

import math
import re

__all__ = ["count_tokens"]

_PIECES = re.compile(r"\w+|[^\w\s]")
WORD_LETTERS = 5
"""A subword vocabulary of English splits longer words about every five letters beyond the first."""


def count_tokens(text: str) -> int:
    """An estimate of the tokens of `text`, at least 0, that needs no vocabulary file.

    Each punctuation mark is one token; each word is one for every `WORD_LETTERS` letters begun.
    Against byte-pair vocabularies it errs on the high side, so a budget is not overrun.
    """
    return sum(math.ceil(len(piece) / WORD_LETTERS) for piece in _PIECES.findall(text))
