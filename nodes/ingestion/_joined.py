"""Chunks of a document as one text again."""

from __future__ import annotations

from collections.abc import Sequence

from ...stores.records import ChunkDraft

__all__ = ["joined"]


def joined(chunks: Sequence[ChunkDraft], longest: int) -> str:
    """The texts one after the other; what a chunk shares with the one before it is said once."""
    text = chunks[0]["text"]
    end = chunks[0]["start"] + len(text)  # how far into the document the text reaches
    for chunk in chunks[1:]:
        if len(text) >= longest:
            break
        repeated = _repeated(text, end, chunk)
        text += "\n" + chunk["text"] if repeated is None else chunk["text"][repeated:]
        end = max(end, chunk["start"] + len(chunk["text"]))
    return text[:longest]


def _repeated(text: str, end: int, chunk: ChunkDraft) -> int | None:
    """How many characters of the chunk `text` ends with already; `None`: it stands apart.

    Its start says so, and is believed only when the characters agree.
    """
    overlap = end - chunk["start"]
    if not 0 <= overlap <= len(text):
        return None
    shared = min(overlap, len(chunk["text"]))
    place = len(text) - overlap
    return shared if text[place : place + shared] == chunk["text"][:shared] else None
