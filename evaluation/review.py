"""Names that extraction found but was not sure of, for people to take in or leave out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from ..models.names import normalise
from ..models.recognizer import Found, Recognizer
from ..models.sentences import sentence_starts
from ..nodes.ingestion._drafts import draft, sections
from ..nodes.ingestion._sources import Malformed, parse_file, parse_row, read_lines
from ..nodes.ingestion._topics import topics
from ..nodes.ingestion.extract import MIN_CONFIDENCE
from ..nodes.ingestion.scan import scan
from ..settings import Settings
from ..state import IngestionInput, Skipped, SourceDocument
from ..stores.errors import InvalidInput
from ..stores.records import ChunkDraft, DocumentDraft

__all__ = ["Doubtful", "Review", "review"]

MARGIN = 50
"""Characters of its sentence that an example shows on each side of the name."""


@dataclass(slots=True)
class Doubtful:
    """A name that no document is sure of: its places, its documents, and one sentence of them.

    `confidence` is the best of all places, in [0.5, 0.7).
    """

    name: str
    count: int
    documents: int
    confidence: float
    example: str


@dataclass(frozen=True, slots=True)
class Review:
    """How many documents were read, their doubtful names, most frequent first, what was not."""

    documents: int
    names: list[Doubtful]
    skipped: list[Skipped]


async def review(
    paths: list[str],
    recognizer: Recognizer,
    settings: Settings,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Review:
    """Read what `clew ingest` would, and gather the names that stay below its threshold.

    Malformed documents are left out. Documents that bring their own graph have no doubtful
    names. Raises `InvalidInput`.
    """
    scanned = await scan(
        IngestionInput(paths=paths, skip_malformed=True), Runtime(), settings=settings
    )
    names, total = _Names(recognizer), scanned["total"]
    for done, (document, source) in enumerate(_documents(scanned["sources"]), start=1):
        if document.graph is None:
            names.add(_read(document, source, settings))
        progress(done, total)
    skipped: Any = scanned["skipped"]  # wrapped, to overwrite what an earlier run left
    return Review(total, names.doubtful(), skipped.value)


def _documents(sources: Sequence[dict[str, Any]]) -> Iterator[tuple[SourceDocument, str]]:
    """Each document with the name of where it stands; `scan` has reported malformed lines."""
    for source in sources:
        path, name = Path(source["path"]), source["name"]
        try:
            if source["kind"] != "jsonl":
                yield parse_file(path.read_bytes(), name, source["kind"]), name
                continue
            for line in read_lines(path):
                try:
                    yield parse_row(line.raw), name
                except Malformed:
                    continue
        except (OSError, Malformed) as error:
            raise InvalidInput(f"{name} changed while it was read; review again.") from error


def _read(document: SourceDocument, source: str, settings: Settings) -> DocumentDraft:
    """The document with a chunk for each section: finer cuts would need the encoder."""
    read = draft(document, source, ["public"], {"language": settings.language})
    read["chunks"] = [
        ChunkDraft(
            index=index,
            header="",
            headings=section.headings,
            text=read["text"][section.start : section.end].strip(),
            start=section.start,
            tokens=0,
            embedding="",
            mentions=[],
        )
        for index, section in enumerate(sections(read))
    ]
    return read


@dataclass
class _Names:
    """The names of all documents by their normalised form: the certain and the others."""

    recognizer: Recognizer
    certain: set[str] = field(default_factory=set)
    others: dict[str, Doubtful] = field(default_factory=dict)

    def add(self, document: DocumentDraft) -> None:
        """Count the names of one document."""
        about, text = topics(document), document["text"]
        spellings = [s for one in about for s in (one.name, *one.aliases, one.surname)]
        self.certain |= {normalise(s) for one in about for s in (one.name, *one.aliases)}
        surnames = {normalise(one.surname) for one in about}  # here they stand for the topic
        starts, seen = sentence_starts(text), set[str]()
        for one in self.recognizer.find(text, spellings):
            norm = normalise(one.name)
            if norm in surnames:
                continue
            if one.confidence >= MIN_CONFIDENCE:
                self.certain.add(norm)
                continue
            if norm not in self.others:
                example = _example(text, one, starts)
                self.others[norm] = Doubtful(one.name, 0, 0, one.confidence, example)
            doubtful = self.others[norm]
            doubtful.count += 1
            doubtful.documents += norm not in seen
            doubtful.confidence = max(doubtful.confidence, one.confidence)
            seen.add(norm)

    def doubtful(self) -> list[Doubtful]:
        """Those that no document is sure of, the most frequent first."""
        left = [one for norm, one in self.others.items() if norm not in self.certain]
        return sorted(left, key=lambda one: (-one.count, -one.documents, one.name))


def _example(text: str, found: Found, starts: list[int]) -> str:
    """The sentence in which a name stands, cut between words where it is long."""
    at = bisect_right(starts, found.start)
    start = starts[at - 1]
    end = max(starts[at] if at < len(starts) else len(text), found.end)
    end = start + len(text[start:end].rstrip())
    first, last = max(start, found.start - MARGIN), min(end, found.end + MARGIN)
    if first > start:
        first = text.find(" ", first, found.start) + 1 or found.start
    if last < end:
        last = max(text.rfind(" ", found.end, last), found.end)
    shown = " ".join(text[first:last].split())
    return ("… " if first > start else "") + shown + (" …" if last < end else "")
