"""Asking a language model what a document names: passage by passage, all of it or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from ...models.chat import Chat
from ...models.ledger import ModelCall
from ...prompts.extract_document import PROMPT
from ...settings import Settings
from ...stores.records import ChunkDraft, DocumentDraft
from ._enriched import Reading
from ._joined import joined

__all__ = ["Asking", "extraction", "passages"]

PASSAGE = 6000
"""Characters that the model is shown at once, headings apart."""


def extraction(settings: Settings) -> str:
    """How names are found, for a document's hash; empty: offline."""
    if settings.ingest_extraction == "offline":
        return ""
    return f"llm {settings.chat_model} {PROMPT.name} {PROMPT.version}"


def passages(chunks: Sequence[ChunkDraft]) -> Iterator[list[ChunkDraft]]:
    """The chunks in their order, as many at once as a passage holds, and at least one."""
    passage: list[ChunkDraft] = []
    size = 0
    for chunk in chunks:
        if passage and size + len(chunk["text"]) > PASSAGE:
            yield passage
            passage, size = [], 0
        passage.append(chunk)
        size += len(chunk["text"])
    if passage:
        yield passage


@dataclass
class Asking:
    """Questions about some documents, a few at once; `calls` are all that were made."""

    chat: Chat
    seconds: float
    slots: asyncio.Semaphore
    calls: list[ModelCall] = field(default_factory=list)

    async def read(self, document: DocumentDraft) -> list[Reading] | str:
        """What the model found in each passage; or why there is no answer about one of them.

        What comes after a passage without an answer is not asked about any more.
        """
        parts = list(passages(document["chunks"]))
        lost: list[str] = []
        answers = await asyncio.gather(*(self._ask(part, lost) for part in parts))
        found = [answer for answer in answers if answer is not None]
        return lost[0] if lost else found

    async def _ask(self, passage: Sequence[ChunkDraft], lost: list[str]) -> Reading | None:
        async with self.slots:
            if lost:
                return None
            value, call = await self.chat.ask(
                PROMPT, {"passage": _text(passage)}, seconds=self.seconds, scope=None
            )
            self.calls.append(call)
        if value is None:
            lost.append(call["error"] or "")
            return None
        return Reading(passage, value)


def _text(passage: Sequence[ChunkDraft]) -> str:
    """The passage under its headings, each said once."""
    return "\n\n".join(
        f"{header}\n{joined(list(part), PASSAGE)}"
        for header, part in groupby(passage, key=itemgetter("header"))
    )
