"""What a document is about: its title, and the names that its openings define."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ...models.definitions import Definition, definition
from ...models.names import normalise, strip_qualifier
from ...stores.records import ChunkDraft, DocumentDraft

__all__ = ["DEFINED", "GENERIC", "Topic", "topics"]

DEFINED = "definition"
"""The method of what an opening sentence defines."""

GENERIC = frozenset(
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
"""Titles and headings that name a part of a document and nothing in the world."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What the chunks at these places are about, how else it is spelt, and how that is known.

    A surname means it in this document alone, so it is no alias.
    """

    name: str
    method: str
    confidence: float
    aliases: tuple[str, ...]
    surname: str
    chunks: range


def topics(document: DocumentDraft) -> list[Topic]:
    """The title's entity, if it has one, and what openings define where no title says it.

    A definition covers the chunk that it opens. One that opens a titled document lends the title
    its spellings, if it defines what the title names, and is no topic.
    """
    title, qualifier = strip_qualifier(document["title"])
    spellings = [document["title"]] if qualifier else []
    titled, surname = _is_title(document, title), ""
    found: list[Topic] = []
    for at, one in [] if "graph" in document else _openings(document["chunks"]):
        if at or not titled:
            aliases, covers = (*one.aliases, *one.variants), range(at, at + 1)
            found.append(Topic(one.name, DEFINED, one.confidence, aliases, one.surname, covers))
        elif _defines(one, title):
            spellings += [one.name, *one.aliases]
            surname = one.surname
    if titled:
        covers = range(len(document["chunks"]))
        found.insert(0, Topic(title, "title", 1.0, tuple(spellings), surname, covers))
    return found


def _openings(chunks: Sequence[ChunkDraft]) -> Iterator[tuple[int, Definition]]:
    """What is defined by the chunks that open the document or a section of it."""
    above: list[str] | None = None
    for at, chunk in enumerate(chunks):
        if chunk["headings"] != above and (defined := definition(chunk["text"])):
            yield at, defined
        above = chunk["headings"]


def _defines(one: Definition, title: str) -> bool:
    """Whether the definition is of what the title names.

    "Royston" is, of "Royston, Hertfordshire"; so is somebody of the same surname and initial,
    "James Graham Ballard" of "J. G. Ballard".
    """
    known = {normalise(name) for name in (one.name, *one.aliases, *one.variants)}
    if normalise(title) in known or normalise(title.split(",")[0]) in known:
        return True
    words = normalise(title).split()
    surnamed = len(words) > 1 and words[-1] == normalise(one.surname)
    return surnamed and any(name.startswith(words[0][0]) for name in known)


def _is_title(document: DocumentDraft, title: str) -> bool:
    """Whether the title names something; what merely repeats a file name or id need not."""
    stems = {document["key"], document["source"], PurePath(document["source"]).stem}
    invented = title in stems and not title[:1].isupper()
    return bool(normalise(title)) and normalise(title) not in GENERIC and not invented
