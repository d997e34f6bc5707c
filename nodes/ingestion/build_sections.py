"""Consecutive chunks taken together: what two-tier retrieval looks at first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...settings import Settings
from ...state import IngestionState, IngestionUpdate
from ...stores.records import ChunkDraft, DocumentDraft, SectionDraft

__all__ = ["build_sections"]


async def build_sections(state: IngestionState, *, settings: Settings) -> IngestionUpdate:
    """Group the chunks of each document, when the run wants sections; `embed` gives them vectors.

    Reads: sectioned, batch. Writes: batch, if sections are wanted. Raises: nothing.
    """
    if not state.get("sectioned"):
        return IngestionUpdate()
    batch = state["batch"]
    return IngestionUpdate(
        batch=await asyncio.to_thread(lambda: [_grouped(document, settings) for document in batch])
    )


def _grouped(document: DocumentDraft, settings: Settings) -> DocumentDraft:
    chunks, size = document["chunks"], settings.node_group_size
    groups = [chunks[at : at + size] for at in range(0, len(chunks), size)]
    sections = [
        SectionDraft(
            index=index,
            span_start=group[0]["index"],
            span_end=group[-1]["index"],
            text=_joined(group, settings.node_text_max_chars),
            embedding="",
        )
        for index, group in enumerate(groups)
    ]
    return {**document, "sections": sections}


def _joined(chunks: Sequence[ChunkDraft], longest: int) -> str:
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
