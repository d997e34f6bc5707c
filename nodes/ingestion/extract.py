"""The names in each document, found offline."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from ...models.names import normalise, strip_qualifier
from ...models.recognizer import NAME, Found, Recognizer
from ...state import IngestionState, IngestionUpdate
from ...stores.records import ChunkDraft, DocumentDraft, EntityDraft, GivenGraph, MentionDraft
from ._given import GIVEN, given_names, places_of_the_unwritten, stand_in_text
from ._topics import GENERIC, Topic, topics

__all__ = ["extract"]

MIN_CONFIDENCE = 0.7


@dataclass
class _Names:
    """The entities of one document, one for each normalised name and type."""

    drafts: dict[tuple[str, str], EntityDraft] = field(default_factory=dict)

    def add(
        self,
        name: str,
        type_: str,
        method: str,
        confidence: float,
        aliases: tuple[str, ...] = (),
        properties: dict[str, Any] | None = None,
    ) -> EntityDraft:
        draft = self.drafts.setdefault(
            (normalise(name), type_),
            EntityDraft(
                name=name,
                type=type_,
                method=method,
                confidence=confidence,
                aliases=[],
                properties={},
                embedding="",
            ),
        )
        if confidence > draft["confidence"]:
            draft["method"], draft["confidence"] = method, confidence
        own = {normalise(known) for known in (draft["name"], *draft["aliases"])}
        draft["aliases"] += [alias for alias in aliases if normalise(alias) not in own]
        draft["properties"] |= properties or {}
        return draft


async def extract(state: IngestionState, *, recognizer: Recognizer) -> IngestionUpdate:
    """Find the names in each document of the batch, and in which chunks they stand.

    Reads: batch. Writes: batch. Raises: nothing.
    """
    batch = state["batch"]
    return {
        "batch": await asyncio.to_thread(
            lambda: [_with_entities(document, recognizer) for document in batch]
        )
    }


def _with_entities(document: DocumentDraft, recognizer: Recognizer) -> DocumentDraft:
    about = topics(document)
    graph = document.get("graph")
    reader = recognizer if graph is None else None
    if graph is not None:
        found = stand_in_text(given_names(graph), document["text"])
    else:
        spellings = [s for one in about for s in (one.name, *one.aliases, one.surname)]
        found = recognizer.find(document["text"], spellings)
    called = _called(about)
    found = [
        replace(one, name=topic.name, method=topic.method, confidence=topic.confidence)
        if one.type == NAME and (topic := called.get(normalise(one.name)))
        else one
        for one in found
        if one.confidence >= MIN_CONFIDENCE
    ]
    types = {normalise(one.name): one.type for one in reversed(found)}
    names = _Names()
    subjects = [
        names.add(
            topic.name,
            _type(topic.name, types, reader) or NAME,
            topic.method,
            topic.confidence,
            topic.aliases,
        )
        for topic in about
    ]
    for one in found:
        names.add(one.name, one.type, one.method, one.confidence, one.aliases, one.properties)
    headed = {
        section: names.add(strip_qualifier(section)[0], heading, "heading", 0.9)
        for section in sorted({name for chunk in document["chunks"] for name in chunk["headings"]})
        if (heading := _heading_type(section, types, reader))
    }
    chunks: list[ChunkDraft] = []
    for at, chunk in enumerate(document["chunks"]):
        pairs = zip(about, subjects, strict=True)
        subject = [draft for topic, draft in pairs if at in topic.chunks]
        subject += [headed[name] for name in chunk["headings"] if name in headed]
        chunks.append({**chunk, "mentions": _mentions(chunk, found, names, subject)})
    if graph is not None:
        _add_unwritten(graph, chunks, names, called)
    return {**document, "chunks": chunks, "entities": list(names.drafts.values())}


def _called(about: list[Topic]) -> dict[str, Topic]:
    """The topics by their spellings, normalised: names first, then in their order."""
    called: dict[str, Topic] = {}
    for spellings in ([(t.name,) for t in about], [(*t.aliases, t.surname) for t in about]):
        for topic, names in zip(about, spellings, strict=True):
            for name in filter(None, names):
                called.setdefault(normalise(name), topic)
    return called


def _add_unwritten(
    graph: GivenGraph, chunks: list[ChunkDraft], names: _Names, called: dict[str, Topic]
) -> None:
    """Mention the given names that stand nowhere, in the chunks where they belong."""
    given = given_names(graph)
    for norm, indexes in places_of_the_unwritten(graph, chunks).items():
        if norm in called:
            continue
        names.add(given[norm], NAME, GIVEN, 1.0)
        for chunk in chunks:
            if chunk["index"] in indexes:
                chunk["mentions"].append(
                    MentionDraft(
                        name=given[norm],
                        type=NAME,
                        offsets=[],
                        subject=False,
                        method=GIVEN,
                        confidence=1.0,
                    )
                )


def _named_whole(name: str, recognizer: Recognizer) -> Found | None:
    """The one name that the whole of `name` is, if it is one."""
    for one in recognizer.find(name):
        if normalise(name[one.start : one.end]) == normalise(name):
            return one
    return None


def _type(name: str, types: dict[str, str], recognizer: Recognizer | None) -> str | None:
    """The type under which the text names it, else as the name by itself is recognised."""
    if normalise(name) in types or recognizer is None:
        return types.get(normalise(name))
    whole = _named_whole(name, recognizer)
    return whole.type if whole and whole.confidence >= MIN_CONFIDENCE else None


def _heading_type(section: str, types: dict[str, str], recognizer: Recognizer | None) -> str | None:
    name = strip_qualifier(section)[0]
    return None if normalise(name) in GENERIC else _type(name, types, recognizer)


def _mentions(
    chunk: ChunkDraft, found: list[Found], names: _Names, subjects: list[EntityDraft]
) -> list[MentionDraft]:
    mentions: dict[tuple[str, str], MentionDraft] = {}
    for subject in subjects:
        mentions[normalise(subject["name"]), subject["type"]] = {
            "name": subject["name"],
            "type": subject["type"],
            "offsets": [],
            "subject": True,
            "method": subject["method"],
            "confidence": subject["confidence"],
        }
    end = chunk["start"] + len(chunk["text"])
    first = bisect_left(found, chunk["start"], key=attrgetter("start"))
    last = bisect_left(found, end, key=attrgetter("start"))
    for one in found[first:last]:
        if one.end <= end:
            key = (normalise(one.name), one.type)
            mention = mentions.setdefault(
                key,
                {
                    "name": names.drafts[key]["name"],
                    "type": one.type,
                    "offsets": [],
                    "subject": False,
                    "method": one.method,
                    "confidence": one.confidence,
                },
            )
            mention["offsets"].append(one.start - chunk["start"])
            mention["confidence"] = max(mention["confidence"], one.confidence)
    return list(mentions.values())
