"""Documents into chunks that the encoder reads whole."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator

from ...models.embeddings import Embedder
from ...models.sentences import PARAGRAPH, sentence_starts
from ...settings import Settings
from ...state import IngestionState, IngestionUpdate
from ...stores.records import ChunkDraft, DocumentDraft
from ._drafts import sections

__all__ = ["split"]

SPECIALS = 2
"""Tokens the encoder adds around every text."""


async def split(
    state: IngestionState, *, embedder: Embedder, settings: Settings
) -> IngestionUpdate:
    """Cut each document of the batch into chunks under their headings.

    Reads: batch. Writes: batch. Raises: nothing.
    """
    batch = state["batch"]
    chunks = await asyncio.to_thread(
        lambda: [_chunks(document, embedder, settings) for document in batch]
    )
    return {
        "batch": [
            {**document, "chunks": parts} for document, parts in zip(batch, chunks, strict=True)
        ]
    }


def _chunks(document: DocumentDraft, embedder: Embedder, settings: Settings) -> list[ChunkDraft]:
    window = min(settings.chunk_tokens, embedder.max_tokens) - SPECIALS
    text = document["text"]
    chunks: list[ChunkDraft] = []
    for section in sections(document):
        header = _header(document["title"], section.headings, window // 3, embedder)
        body = text[section.start : section.end]
        for start, end, tokens in _cuts(body, header, window, settings.chunk_overlap, embedder):
            chunks.append(
                {
                    "index": len(chunks),
                    "header": header,
                    "headings": section.headings,
                    "text": body[start:end],
                    "start": section.start + start,
                    "tokens": tokens,
                    "embedding": "",
                    "mentions": [],
                }
            )
    return chunks


def _header(title: str, path: list[str], longest: int, embedder: Embedder) -> str:
    header = " > ".join(part for part in [title, *path] if part)
    spans = embedder.token_spans(header)
    return header[: spans[longest - 1][1]].rstrip() if len(spans) > longest else header


def _cuts(
    text: str, header: str, window: int, share: float, embedder: Embedder
) -> Iterator[tuple[int, int, int]]:
    """Start, end and tokens of each chunk of one section.

    A chunk ends with a paragraph, if that fills half of it, else with a sentence, else between
    words; the next one begins up to `share` of the window before that end, with a sentence if
    one begins there.
    """
    taken = embedder.count_tokens(header)
    starts = [start for start, _ in embedder.token_spans(text)]
    size = window - taken
    overlap = int(size * share)
    sentences = _indexes(starts, sentence_starts(text))
    paragraphs = _indexes(starts, [m.end() for m in PARAGRAPH.finditer(text)])
    words = [i for i, at in enumerate(starts) if at == 0 or text[at - 1].isspace()]
    begin, position = 0, len(text) - len(text.lstrip())
    while position < len(text.rstrip()):
        limit = begin + size
        while True:
            end = len(starts)
            if limit < end:
                floor = begin + overlap
                end = (
                    _last(paragraphs, max(floor, begin + size // 2), limit)
                    or _last(sentences, floor, limit)
                    or _last(words, floor, limit)
                    or limit
                )
            stop = starts[end] if end < len(starts) else len(text)
            stop = position + len(text[position:stop].rstrip())
            tokens = embedder.count_tokens(f"{header}\n{text[position:stop]}") - taken
            if tokens <= size or end <= begin + 1:
                break
            # Words cut in two may have more tokens than the whole had there.
            limit = end - 1
        yield position, stop, tokens
        if end >= len(starts):
            return
        begin = (
            _first(sentences, max(begin + 1, end - overlap), end)
            or _first(words, max(begin + 1, end - overlap), end)
            or end
        )
        position = starts[begin]


def _indexes(starts: list[int], places: list[int]) -> list[int]:
    """The tokens that begin at, or first after, the given places."""
    return sorted({bisect_left(starts, place) for place in places})


def _last(indexes: list[int], above: int, limit: int) -> int:
    """The last index in (above, limit], or 0."""
    at = bisect_left(indexes, limit + 1) - 1
    return indexes[at] if at >= 0 and indexes[at] > above else 0


def _first(indexes: list[int], lowest: int, end: int) -> int:
    """The first index in [lowest, end), or 0."""
    at = bisect_left(indexes, lowest)
    return indexes[at] if at < len(indexes) and indexes[at] < end else 0
