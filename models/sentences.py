"""Where sentences begin."""

from __future__ import annotations

import re

__all__ = ["PARAGRAPH", "sentence_starts"]

PARAGRAPH = re.compile(r"\n[ \t]*\n\s*(?=\S)")
_SENTENCE = re.compile(
    r"(?<!\b[A-Z])(?<!\b(?:Dr|Mr|Ms|St|Jr|Sr|No|vs))(?<!\b(?:Mrs|Inc|Ltd|Rev|Gen))"
    r"[.!?。！？][\"'”’)\]]*(?:\s+(?=\S)|(?<=[。！？]))"
)  # fmt: skip


def sentence_starts(text: str) -> list[int]:
    """Where sentences and paragraphs begin, the first at 0."""
    ends = {m.end() for pattern in (_SENTENCE, PARAGRAPH) for m in pattern.finditer(text)}
    return sorted({0, *ends} - {len(text)}) or [0]
