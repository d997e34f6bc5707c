"""What later steps need of the question: its vector, and whether a passage only repeats it."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...models.embeddings import Embedder, Vector
from ...state import RetrievalState

__all__ = ["question_vector", "repeats"]

SHINGLE = 5
"""Words in a row that two texts may have in common."""
SAME = 2 / 3
"""Share of its shingles that a text has in common with another when it is a copy, or part of one;
a changed word takes five."""

_WORD = re.compile(r"\w+")


async def question_vector(state: RetrievalState, embedder: Embedder) -> Vector | None:
    """The vector that the search was made with; none when it was made without.

    It is remembered, so that nobody waits; an encoder that failed once is not waited for again.
    """
    if not state["embedded"]:
        return None
    return await embedder.embed_question(state["request"]["question"])


def repeats(state: RetrievalState) -> Callable[[str], bool]:
    """Whether a text only repeats the one that the run was given, or is repeated by it.

    By the shingles that they have in common, whatever their case, punctuation and line breaks
    (A. Broder, On the resemblance and containment of documents, 1997). Nothing repeats a question.
    """
    if not state["request"]["discover"]:
        return lambda _: False
    given = _shingles(state["request"]["question"])

    def repeated(text: str) -> bool:
        found = _shingles(text)
        return len(found & given) >= SAME * max(1, min(len(found), len(given)))

    return repeated


def _shingles(text: str) -> set[tuple[str, ...]]:
    """Every `SHINGLE` words in a row; a text of fewer words has none and repeats nothing."""
    words = _WORD.findall(text.casefold())
    return set(zip(*(words[n:] for n in range(SHINGLE)), strict=False))
