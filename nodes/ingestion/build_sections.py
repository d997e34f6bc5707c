"""Consecutive chunks taken together: what two-tier retrieval looks at first."""

from __future__ import annotations

import asyncio

from ...settings import Settings
from ...state import IngestionState, IngestionUpdate
from ...stores.records import DocumentDraft, SectionDraft
from ._joined import joined

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
            text=joined(group, settings.node_text_max_chars),
            embedding="",
        )
        for index, group in enumerate(groups)
    ]
    return {**document, "sections": sections}
