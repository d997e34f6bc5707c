"""How many tokens a context will cost the model that reads it."""

from __future__ import annotations

import math
import re

__all__ = ["count_tokens"]

WORD_LETTERS = 5
"""A subword vocabulary of English splits longer words about every five letters beyond the first."""
_PIECES = re.compile(r"\d{1,3}|[^\W\d]+|[^\w\s]")
_PLAIN_TOKENS = re.compile(rf"\d{{1,3}}|[A-Za-z_]{{1,{WORD_LETTERS}}}|[^\w\s]")


def count_tokens(text: str) -> int:
    """An estimate of the tokens of `text`, at least 0, that needs no vocabulary file.

    Each punctuation mark is one token, and so is each letter outside ASCII, which such vocabularies
    know least; other words are one for every `WORD_LETTERS` letters begun, numbers one for every
    three digits. Against byte-pair vocabularies it errs on the high side, so a budget is kept.
    """
    if text.isascii():
        return len(_PLAIN_TOKENS.findall(text))
    return sum(map(_cost, _PIECES.findall(text)))


def _cost(piece: str) -> int:
    if piece.isascii():
        return math.ceil(len(piece) / WORD_LETTERS)
    plain = sum(map(str.isascii, piece))
    return len(piece) - plain + math.ceil(plain / WORD_LETTERS)
