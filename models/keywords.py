"""What to look for by words when a whole text takes the place of a question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from .spans import name_spans
from .words import STOP_WORDS

__all__ = ["keywords"]

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def keywords(text: str, limit: int) -> str:
    """At most `limit` words of the text, each once, separated by spaces.

    First those of its names, the name that stands there most often first; then the most telling
    of the others, by (1 + ln(count)) × length: how rare a word is elsewhere is not known here, and
    rare words are long (G. K. Zipf, The Psycho-Biology of Language, 1935).
    """
    kept: dict[str, str] = {}
    for word in _by_weight(text):
        if len(kept) == limit:
            break
        kept.setdefault(word.lower(), word)
    return " ".join(kept.values())


def _by_weight(text: str) -> Iterator[str]:
    names = Counter(span.name for span in name_spans(text))
    for name, _ in names.most_common():
        yield from _telling(name)
    words = _telling(text)
    counts = Counter(word.lower() for word in words)
    yield from sorted(words, key=lambda word: -(1 + math.log(counts[word.lower()])) * len(word))


def _telling(text: str) -> list[str]:
    """The words but for single letters and those that only hold sentences together."""
    words: list[str] = _WORD.findall(text)
    return [word for word in words if len(word) > 1 and word.lower() not in STOP_WORDS]
