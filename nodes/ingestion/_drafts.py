"""A document about to be taken in, and the parts that its headings make of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import PurePath
from typing import Any, NamedTuple

from ...models.names import normalise
from ...state import SourceDocument
from ...stores.records import DocumentDraft, GivenGraph
from ._sources import EXTENSIONS, headings

__all__ = ["Section", "draft", "sections"]


class Section(NamedTuple):
    """The headings above a part of the text, and where it begins and ends."""

    headings: list[str]
    start: int
    end: int


def draft(
    document: SourceDocument, source: str, default_acl: Sequence[str], setup: Mapping[str, Any]
) -> DocumentDraft:
    """The document, yet without parts; its hash covers all it says and how it will be read."""
    acl = sorted(set(document.acl or default_acl))
    content = document.model_dump(exclude={"id", "acl", "graph"}) | {"acl": acl, "setup": {**setup}}
    if document.graph is not None:  # a document without it hashes as if there were no such field
        content["graph"] = document.graph.model_dump()
    canon = json.dumps(content, sort_keys=True, ensure_ascii=False)
    read = DocumentDraft(
        key=document.id,
        title=document.title or document.id,
        source=source,
        category=document.category,
        date=document.date,
        metadata=document.metadata,
        acl=acl,
        language=setup["language"],
        text=document.text,
        content_hash=sha256(canon.encode()).hexdigest(),
        chunks=[],
        entities=[],
        relationships=[],
        links=[],
    )
    if document.graph is not None:
        read["graph"] = GivenGraph(entities=document.graph.entities, triples=document.graph.triples)
    return read


def sections(document: DocumentDraft) -> list[Section]:
    """The parts between headings that hold text; a document of headings alone is one part."""
    text, title = document["text"], normalise(document["title"])
    whole = Section([], 0, len(text))
    if EXTENSIONS.get(PurePath(document["source"]).suffix.lower()) != "markdown":
        return [whole]
    lines = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    found: list[Section] = []
    above: list[tuple[int, str]] = []
    start = 0
    for level, name, first, after in [*headings(text), (0, "", len(lines) - 1, 0)]:
        path = [inner for _, inner in above]
        if path and normalise(path[0]) == title:
            path = path[1:]
        end = lines[min(first, len(lines) - 1)]
        if text[start:end].strip():
            found.append(Section(path, start, end))
        above = [one for one in above if one[0] < level] + ([(level, name)] if name else [])
        start = lines[min(after, len(lines) - 1)]
    return found or [whole]
