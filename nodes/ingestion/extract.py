"""The names in each document, found offline."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import PurePath
from typing import Any

from ...models.names import normalise, strip_qualifier
from ...models.recognizer import NAME, Found, Recognizer
from ...state import IngestionState, IngestionUpdate
from ...stores.records import ChunkDraft, DocumentDraft, EntityDraft, MentionDraft

__all__ = ["extract"]

MIN_CONFIDENCE = 0.7

_GENERIC = frozenset(
    normalise(name)
    for name in """introduction; overview; summary; abstract; background; contents;
    table of contents;
    references; bibliography; sources; notes; footnotes; citations; further reading; see also;
    external links; links; history; early life; early years; life; biography; personal life; career;
    early career; later life; later years; death; legacy; reception; critical reception; plot;
    synopsis; cast; production; release; soundtrack; track listing; personnel; credits; awards;
    awards and nominations; discography; filmography; works; selected works; publications;
    geography; demographics; climate; economy; education; government; politics; culture; transport;
    transportation; population; etymology; description; features; usage; example; examples; faq;
    frequently asked questions; getting started; quick start; quickstart; installation; setup;
    requirements; prerequisites; configuration; troubleshooting; known issues; changelog; release
    notes; license; contributing; contact; about; appendix; glossary; conclusion; conclusions;
    discussion; results; methods; methodology; related work; acknowledgements; acknowledgments;
    gallery; honours; honors; statistics; career statistics; results and discussion; family;
    marriage and children; issue; ancestry; style and influences; next steps; readme; index; home;
    main page; untitled""".replace("\n", " ").split(";")
)


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
    title, qualifier = strip_qualifier(document["title"])
    titled = [title] if _is_title(document, title) else []
    sections = {name for chunk in document["chunks"] for name in chunk["headings"]}
    found = [
        one for one in recognizer.find(document["text"], titled) if one.confidence >= MIN_CONFIDENCE
    ]
    types = {normalise(one.name): one.type for one in reversed(found)}
    names = _Names()
    subjects: list[EntityDraft] = []
    for name in titled:
        certain = _named_whole(name, recognizer)
        type_ = certain.type if certain else types.get(normalise(name), NAME)
        subject = names.add(name, type_, "title", 1.0, (document["title"],) if qualifier else ())
        subjects.append(subject)
    for one in found:
        names.add(one.name, one.type, one.method, one.confidence, one.aliases, one.properties)
    headed = {
        section: names.add(strip_qualifier(section)[0], heading, "heading", 0.9)
        for section in sorted(sections)
        if (heading := _heading_type(section, types, recognizer))
    }
    chunks: list[ChunkDraft] = [
        {
            **chunk,
            "mentions": _mentions(
                chunk,
                found,
                names,
                subjects + [headed[name] for name in chunk["headings"] if name in headed],
            ),
        }
        for chunk in document["chunks"]
    ]
    return {**document, "chunks": chunks, "entities": list(names.drafts.values())}


def _is_title(document: DocumentDraft, title: str) -> bool:
    """Whether the title names something; what merely repeats a file name or id need not."""
    stems = {document["key"], document["source"], PurePath(document["source"]).stem}
    invented = title in stems and not title[:1].isupper()
    return bool(normalise(title)) and normalise(title) not in _GENERIC and not invented


def _named_whole(name: str, recognizer: Recognizer) -> Found | None:
    """The one name that the whole of `name` is, if it is one."""
    for one in recognizer.find(name):
        if normalise(name[one.start : one.end]) == normalise(name):
            return one
    return None


def _heading_type(section: str, types: dict[str, str], recognizer: Recognizer) -> str | None:
    name = strip_qualifier(section)[0]
    if normalise(name) in _GENERIC:
        return None
    if normalise(name) in types:
        return types[normalise(name)]
    whole = _named_whole(name, recognizer)
    return whole.type if whole and whole.confidence >= MIN_CONFIDENCE else None


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
