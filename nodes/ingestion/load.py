"""The next documents, read from where the last batch ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from ...models.embeddings import Embedder
from ...models.recognizer import Recognizer
from ...settings import Settings
from ...state import Cursor, IngestionState, IngestionUpdate, Skipped, SourceDocument
from ...stores.access import Access
from ...stores.protocols import DocumentStore
from ...stores.records import DocumentDraft
from ...stores.unfinished import marked
from ._by_llm import extraction
from ._drafts import draft
from ._given import GIVEN
from ._sources import Malformed, fingerprint, parse_file, parse_row, read_lines

__all__ = ["load"]

PIPELINE_VERSION = 2
"""Raised when documents must be read again though their content is the same."""

BATCH_DOCUMENTS = 128
BATCH_CHARACTERS = 120_000


async def load(
    state: IngestionState,
    runtime: Runtime[Any],
    *,
    documents: DocumentStore,
    access: Access,
    embedder: Embedder,
    recognizer: Recognizer,
    settings: Settings,
) -> IngestionUpdate:
    """Read the next batch and leave out what is stored unchanged.

    Reads: sources, cursor, default_acl, total. Writes: batch, cursor, exhausted, unchanged,
    skipped. Raises: StoreUnavailable, StoreTimeout.
    """
    reader = _Reader(state)
    found = await asyncio.to_thread(reader.batch)
    setup = {
        "pipeline": PIPELINE_VERSION,
        "model": embedder.name,
        "chunks": [min(settings.chunk_tokens, embedder.max_tokens), settings.chunk_overlap],
        "curated": recognizer.digest,
        "language": settings.language,
    }
    drafts = [
        _marked(draft(document, source, state["default_acl"], setup), settings)
        for document, source in found
    ]
    keys = [draft["key"] for draft in drafts]
    stored = (
        await documents.hashes(keys, sectioned=state["sectioned"], access=access) if keys else {}
    )
    changed = [draft for draft in drafts if stored.get(draft["key"]) != draft["content_hash"]]
    kept = {draft["key"] for draft in changed}
    runtime.stream_writer({"event": "loaded", "done": reader.done, "total": state["total"]})
    return {
        "batch": changed,
        "cursor": reader.cursor,
        "exhausted": reader.cursor["source"] >= len(state["sources"]),
        "unchanged": [key for key in keys if key not in kept],
        "skipped": reader.skipped,
    }


def _marked(document: DocumentDraft, settings: Settings) -> DocumentDraft:
    """The draft whose hash also tells how its names are found, unless that is offline."""
    found = GIVEN if "graph" in document else extraction(settings)
    if not found:
        return document
    return {**document, "content_hash": marked(document["content_hash"], found)}


class _Reader:
    def __init__(self, state: IngestionState) -> None:
        self._sources = state["sources"]
        self.cursor: Cursor = {**state["cursor"]}
        self.skipped: list[Skipped] = []

    @property
    def done(self) -> int:
        """How many documents have been read so far, this batch included."""
        passed: int = sum(source["documents"] for source in self._sources[: self.cursor["source"]])
        if self.cursor["line"]:
            open_source = self._sources[self.cursor["source"]]
            passed += min(self.cursor["line"], open_source["documents"])
        return passed

    def batch(self) -> list[tuple[SourceDocument, str]]:
        """The next documents with the name of where they stand, within the bounds of a batch."""
        found: list[tuple[SourceDocument, str]] = []
        size = 0
        for document, name in self._documents():
            found.append((document, name))
            size += len(document.text)
            if len(found) == BATCH_DOCUMENTS or size >= BATCH_CHARACTERS:
                break
        return found

    def _documents(self) -> Iterator[tuple[SourceDocument, str]]:
        while self.cursor["source"] < len(self._sources):
            source = self._sources[self.cursor["source"]]
            if source["kind"] == "jsonl":
                yield from self._rows(source)
            else:
                document = self._whole(source)
                self._next_source()
                if document:
                    yield document, source.get("name", "inline")

    def _next_source(self) -> None:
        self.cursor = {"source": self.cursor["source"] + 1, "offset": 0, "line": 0}

    def _whole(self, source: dict[str, Any]) -> SourceDocument | None:
        if source["kind"] == "inline":
            return SourceDocument.model_validate(source["document"])
        path = Path(source["path"])
        try:
            raw = path.read_bytes()
            if not self._same(source):
                return None
            return parse_file(raw, source["name"], source["kind"])
        except (OSError, Malformed) as error:
            self._gone(source, error)
            return None

    def _rows(self, source: dict[str, Any]) -> Iterator[tuple[SourceDocument, str]]:
        """The rest of a JSONL file. `scan` has reported its malformed lines already."""
        try:
            if self._same(source):
                lines = read_lines(Path(source["path"]), self.cursor["offset"], self.cursor["line"])
                for line in lines:
                    self.cursor["offset"], self.cursor["line"] = line.next_offset, line.number
                    try:
                        yield parse_row(line.raw), source["name"]
                    except Malformed:
                        continue
        except OSError as error:
            self._gone(source, error)
        self._next_source()

    def _same(self, source: dict[str, Any]) -> bool:
        seen = fingerprint(Path(source["path"]))
        same = all(source[name] == value for name, value in seen.items())
        if not same:
            self._left_out(source, "it changed while it was read; take it in again")
        return same

    def _gone(self, source: dict[str, Any], error: Exception) -> None:
        why = error.strerror if isinstance(error, OSError) else str(error)
        self._left_out(source, f"it can no longer be read ({why})")

    def _left_out(self, source: dict[str, Any], reason: str) -> None:
        self.skipped.append({"source": source["name"], "reason": reason})
