"""How the entities of a document hang together, as far as its words and links say."""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

from ...models.names import normalise
from ...models.recognizer import NAME
from ...state import IngestionState, IngestionUpdate
from ...stores.records import ChunkDraft, DocumentDraft, GivenGraph
from ._given import relation_type
from ._relations import LINKS, RELATED, End, Relations, end_of, infer
from ._sources import EXTENSIONS

__all__ = ["detect_relationships"]

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]\n]+)\]\((?P<target>[^()\s]+)(?:\s+\"[^\"]*\")?\)")
_WIKI = re.compile(r"\[\[(?P<target>[^\[\]|#\n]+)(?:#[^\[\]|\n]*)?(?:\|(?P<text>[^\[\]\n]+))?\]\]")


@dataclass(frozen=True, slots=True)
class _Link:
    name: str
    target: str
    offset: int


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
    relations = Relations()
    links: dict[str, None] = {}
    for chunk in document["chunks"]:
        subjects = [end_of(mention) for mention in chunk["mentions"] if mention["subject"]]
        for link in _links(chunk["text"], document["source"], titles):
            links[link.target] = None
            target = _entity(document, chunk, link.name, link.offset, "link")
            for subject in subjects[:1]:
                relations.add(subject, target, LINKS, chunk["index"])
        if "graph" not in document:
            infer(chunk, relations)
    if "graph" in document:
        _take(document["graph"], document, relations)
    for type_, name in _declared(document["metadata"]):
        links[name] = None
        _declare(document, relations, type_, name)
    return {**document, "relationships": relations.kept(), "links": list(links)}


def _take(graph: GivenGraph, document: DocumentDraft, relations: Relations) -> None:
    """Relate the ends of each given triple; chunks that mention both bear it out."""
    ends = _ends(document)
    chunks: dict[End, set[int]] = defaultdict(set)
    for chunk in document["chunks"]:
        for mention in chunk["mentions"]:
            chunks[end_of(mention)].add(chunk["index"])
    for subject, predicate, object_ in graph["triples"]:
        source, target = ends[normalise(subject)], ends[normalise(object_)]
        shared = sorted(chunks[source] & chunks[target]) or [document["chunks"][0]["index"]]
        for index in shared:
            relations.add(source, target, relation_type(predicate) or RELATED, index)


def _declare(document: DocumentDraft, relations: Relations, type_: str, name: str) -> None:
    """Relate the subject to what the front matter names; the first chunk bears it out."""
    for chunk in document["chunks"][:1]:
        subjects = [end_of(mention) for mention in chunk["mentions"] if mention["subject"]]
        for subject in subjects[:1]:
            target = _entity(document, chunk, name, None, "front matter")
            relations.add(subject, target, type_, chunk["index"])


def _entity(
    document: DocumentDraft, chunk: ChunkDraft, name: str, offset: int | None, method: str
) -> End:
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
    if end not in map(end_of, chunk["mentions"]):
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


def _ends(document: DocumentDraft) -> dict[str, End]:
    """The document's entities by their normalised names and aliases, names first."""
    ends: dict[str, End] = {}
    for entity in document["entities"]:
        ends.setdefault(normalise(entity["name"]), (entity["name"], entity["type"]))
    for entity in document["entities"]:
        for alias in entity["aliases"]:
            ends.setdefault(normalise(alias), (entity["name"], entity["type"]))
    return ends


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
