"""How the entities of a document hang together, as far as its words and links say."""

from __future__ import annotations

import asyncio
import posixpath
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

from ...models.names import normalise
from ...models.recognizer import NAME
from ...models.sentences import sentence_starts
from ...state import IngestionState, IngestionUpdate
from ...stores.records import (
    CO_OCCURS,
    ChunkDraft,
    DocumentDraft,
    GivenGraph,
    MentionDraft,
    RelationshipDraft,
)
from ._given import relation_type
from ._sources import EXTENSIONS

__all__ = ["detect_relationships"]

MIN_CONFIDENCE = 0.7
MENTIONS, LINKS, RELATED = "MENTIONS", "LINKS_TO", "RELATED_TO"
SYMMETRIC = frozenset({CO_OCCURS, RELATED})
CONFIDENCE = {CO_OCCURS: 0.8, MENTIONS: 0.9}
"""Of the types that are inferred; a relation that somebody wrote down has 1.0."""

REACH = 5
"""How many names after it in its sentence a name is paired with: 100 names make 485 pairs."""

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]\n]+)\]\((?P<target>[^()\s]+)(?:\s+\"[^\"]*\")?\)")
_WIKI = re.compile(r"\[\[(?P<target>[^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|(?P<text>[^\[\]\n]+))?\]\]")

_End = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Link:
    name: str
    target: str
    offset: int


class _Relations:
    """The relations of one document, one for each pair and type."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[_End, _End, str], RelationshipDraft] = {}

    def add(
        self, source: _End, target: _End, type_: str, chunk: int, confidence: float = 1.0
    ) -> None:
        if source == target:
            return
        if type_ in SYMMETRIC:
            source, target = sorted((source, target))
        draft = self._drafts.setdefault(
            (source, target, type_),
            {
                "source": source,
                "target": target,
                "type": type_,
                "confidence": confidence,
                "evidence": [],
            },
        )
        if chunk not in draft["evidence"]:
            draft["evidence"].append(chunk)

    def kept(self) -> list[RelationshipDraft]:
        return [one for one in self._drafts.values() if one["confidence"] >= MIN_CONFIDENCE]


async def detect_relationships(state: IngestionState) -> IngestionUpdate:
    """Relate the entities of each document by sentence, subject, link and front matter.

    Reads: batch. Writes: batch. Raises: nothing.
    """
    batch = state["batch"]
    titles = {key: one["title"] for one in batch for key in (one["source"], one["key"])}
    return {"batch": await asyncio.to_thread(lambda: [_related(one, titles) for one in batch])}


def _related(document: DocumentDraft, titles: dict[str, str]) -> DocumentDraft:
    document = {
        **document,
        "entities": [*document["entities"]],
        "chunks": [{**chunk, "mentions": [*chunk["mentions"]]} for chunk in document["chunks"]],
    }
    relations = _Relations()
    links: dict[str, None] = {}
    for chunk in document["chunks"]:
        subjects = [_end(mention) for mention in chunk["mentions"] if mention["subject"]]
        for link in _links(chunk["text"], document["source"], titles):
            links[link.target] = None
            target = _entity(document, chunk, link.name, link.offset, "link")
            for subject in subjects[:1]:
                relations.add(subject, target, LINKS, chunk["index"])
        if "graph" not in document:
            _infer(chunk, subjects, relations)
    if "graph" in document:
        _take(document["graph"], document, relations)
    for type_, name in _declared(document["metadata"]):
        links[name] = None
        _declare(document, relations, type_, name)
    return {**document, "relationships": relations.kept(), "links": list(links)}


def _infer(chunk: ChunkDraft, subjects: list[_End], relations: _Relations) -> None:
    """Relate what shares a sentence, and the chunk's subjects to what it mentions."""
    for one, other in _pairs(chunk):
        relations.add(one, other, CO_OCCURS, chunk["index"], CONFIDENCE[CO_OCCURS])
    for subject in subjects:
        for mention in chunk["mentions"]:
            relations.add(subject, _end(mention), MENTIONS, chunk["index"], CONFIDENCE[MENTIONS])


def _take(graph: GivenGraph, document: DocumentDraft, relations: _Relations) -> None:
    """Relate the ends of each given triple; chunks that mention both bear it out."""
    ends = _ends(document)
    chunks: dict[_End, set[int]] = defaultdict(set)
    for chunk in document["chunks"]:
        for mention in chunk["mentions"]:
            chunks[_end(mention)].add(chunk["index"])
    for subject, predicate, object_ in graph["triples"]:
        source, target = ends[normalise(subject)], ends[normalise(object_)]
        shared = sorted(chunks[source] & chunks[target]) or [document["chunks"][0]["index"]]
        for index in shared:
            relations.add(source, target, relation_type(predicate) or RELATED, index)


def _declare(document: DocumentDraft, relations: _Relations, type_: str, name: str) -> None:
    """Relate the subject to what the front matter names; the first chunk bears it out."""
    for chunk in document["chunks"][:1]:
        subjects = [_end(mention) for mention in chunk["mentions"] if mention["subject"]]
        for subject in subjects[:1]:
            target = _entity(document, chunk, name, None, "front matter")
            relations.add(subject, target, type_, chunk["index"])


def _end(mention: MentionDraft) -> _End:
    return mention["name"], mention["type"]


def _entity(
    document: DocumentDraft, chunk: ChunkDraft, name: str, offset: int | None, method: str
) -> _End:
    """The document's entity of that name, mentioned in the chunk; new ones are added."""
    end = _ends(document).get(normalise(name))
    if end is None:
        end = (name, NAME)
        document["entities"].append(
            {
                "name": name,
                "type": NAME,
                "method": method,
                "confidence": 1.0,
                "aliases": [],
                "properties": {},
                "embedding": "",
            }
        )
    if end not in map(_end, chunk["mentions"]):
        chunk["mentions"].append(
            {
                "name": end[0],
                "type": end[1],
                "offsets": [] if offset is None else [offset],
                "subject": False,
                "method": method,
                "confidence": 1.0,
            }
        )
    return end


def _ends(document: DocumentDraft) -> dict[str, _End]:
    """The document's entities by their normalised names and aliases, names first."""
    ends: dict[str, _End] = {}
    for entity in document["entities"]:
        ends.setdefault(normalise(entity["name"]), (entity["name"], entity["type"]))
    for entity in document["entities"]:
        for alias in entity["aliases"]:
            ends.setdefault(normalise(alias), (entity["name"], entity["type"]))
    return ends


def _pairs(chunk: ChunkDraft) -> Iterator[tuple[_End, _End]]:
    """Entities that share a sentence, each with the next few of it."""
    starts = sentence_starts(chunk["text"])
    sentences: dict[int, dict[_End, None]] = {}
    places = sorted(
        (offset, _end(mention)) for mention in chunk["mentions"] for offset in mention["offsets"]
    )
    for offset, end in places:
        sentences.setdefault(bisect_right(starts, offset), {})[end] = None
    for names in map(list, sentences.values()):
        for at, one in enumerate(names):
            for other in names[at + 1 : at + 1 + REACH]:
                yield one, other


def _links(text: str, source: str, titles: dict[str, str]) -> Iterator[_Link]:
    """What the text links to within the collection, by name or by file."""
    for match in _WIKI.finditer(text):
        target = match["target"].strip()
        if normalise(target):
            yield _Link(titles.get(target, target), target, match.start("target"))
    for match in _LINK.finditer(text):
        path = unquote(match["target"].split("#")[0])
        if "://" in path or PurePath(path).suffix.lower() not in EXTENSIONS:
            continue
        key = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        name = titles.get(key, match["text"].strip())
        if normalise(name):
            yield _Link(name, key, match.start("text"))


def _declared(metadata: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Relation types and names that the document's front matter states."""
    for name in metadata.get("related", []):
        if normalise(name):
            yield RELATED, name.strip()
    for relation in metadata.get("relations", []):
        type_ = relation_type(relation["type"])
        if type_ and normalise(relation["target"]):
            yield type_, relation["target"].strip()
