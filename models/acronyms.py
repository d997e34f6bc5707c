"""What an acronym in parentheses abbreviates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .names import normalise
from .words import STOP_WORDS

__all__ = ["ACRONYM", "abbreviates", "long_forms"]

ACRONYM = re.compile(r"\s?\(\s?([A-Z][A-Za-z&.]{1,9}?)s?\s?\)")

_INITIAL = re.compile(r"(?<![^\s-])[^\W\d_]")
_END = re.compile(r"[.;:,()\n]")
_REACH = 200


def long_forms(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each name whose acronym follows: "Food and Drug Administration (FDA)".

    After Schwartz and Hearst, "A Simple Algorithm for Identifying Abbreviation Definitions in
    Biomedical Text" (2003), for initials alone.
    """
    for match in ACRONYM.finditer(text):
        first = max(match.start() - _REACH, 0)
        before = text[first : match.start()]
        words = [initial.start() for initial in _INITIAL.finditer(before)]
        for at in reversed(words[-2 * len(match[1]) :]):
            form = before[at:]
            if _END.search(form):
                break
            if form[0] == match[1][0] and " " in form and abbreviates(match[1], form):
                yield first + at, match.start()
                break


def abbreviates(acronym: str, name: str) -> bool:
    """Whether the acronym holds the initials of the name's words, or of all but function words."""
    words = [word for word in re.split(r"[\s-]+", name) if word]
    letters = re.sub(r"[^a-z]", "", acronym.lower())
    weighty = [word for word in words if word.lower() not in STOP_WORDS]
    return any(
        letters == "".join(word[0] for word in some).lower() for some in (words, weighty)
    ) and normalise(acronym) != normalise(name)
