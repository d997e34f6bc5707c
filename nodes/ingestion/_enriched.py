"""What a language model found in a document, added to what was found offline.

The model is believed as far as the document bears it out. A name that stands nowhere in the text is
left out, and every other is written as it stands there; a relation needs both its ends in the
passage that the model was shown. What was found offline stays, at most with a better type.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...models.names import normalise
from ...models.recognizer import NAME, keeps_capitals
from ...models.words import STOP_WORDS
from ...prompts.extract_document import ExtractedEntity, ExtractedGraph, ExtractedRelation, Kind
from ...stores.records import (
    CO_OCCURS,
    ChunkDraft,
    DocumentDraft,
    EntityDraft,
    MentionDraft,
    RelationshipDraft,
)
from ._given import relation_type, stand_in_text
from ._relations import LINKS, MENTIONS, MIN_CONFIDENCE, End, Relations, end_of, infer

__all__ = ["Reading", "enriched"]

LLM = "llm"
"""The method of what a language model found."""

TYPES: dict[Kind, str] = {
    "person": "Person",
    "place": "Place",
    "event": "Event",
    "object": "Object",
    "organisation": "Organisation",
    "concept": "Concept",
    "time": "Date",
}
"""The model's types as patterns and curated lists call them."""

INFERRED = frozenset({CO_OCCURS, MENTIONS, LINKS})
"""Types that say how Clew found a relation: not the model's to give."""

_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,40}")

_Key = tuple[str, str]
"""A normalised name and a type: what makes an entity."""


class Reading(NamedTuple):
    """A passage, chunks that follow one another, and what the model found in it."""

    chunks: Sequence[ChunkDraft]
    answer: ExtractedGraph


class _Place(NamedTuple):
    """Where a name stands: the chunk's index, the place in its text, and the words there."""

    chunk: int
    start: int
    words: str


_Places = Mapping[str, Sequence[_Place]]
"""By normalised name."""


def enriched(document: DocumentDraft, readings: Sequence[Reading]) -> DocumentDraft:
    """The document with what the model found, joined to what is known by normalised name.

    A known name that has no type takes the model's; any other type stays. What words let infer is
    inferred for new places of names as for all others.
    """
    things = _things(readings)
    places = _places(document["chunks"], _spellings(things))
    entities = _Entities(document)
    for name, thing in things.items():
        entities.join(name, thing, places)
    for name, thing in things.items():
        entities.add_aliases(name, thing, places)
    stand = entities.stand(places)
    chunks = [entities.mentioned(chunk, stand[chunk["index"]]) for chunk in document["chunks"]]
    relations = Relations()
    for chunk in chunks:
        infer(chunk, relations, entities.fresh[chunk["index"]])
    for reading in readings:
        shown = {chunk["index"] for chunk in reading.chunks}
        passage = [chunk for chunk in chunks if chunk["index"] in shown]
        for relation in reading.answer.relations:
            _relate(relation, passage, entities, relations)
    return {
        **document,
        "chunks": chunks,
        "entities": entities.drafts(),
        "relationships": [*map(entities.retyped, document["relationships"]), *relations.kept()],
    }


def _things(readings: Sequence[Reading]) -> dict[str, ExtractedEntity]:
    """What the model is sure of by normalised name, the surest first."""
    found = [thing for reading in readings for thing in reading.answer.entities]
    things: dict[str, ExtractedEntity] = {}
    for thing in sorted(found, key=lambda thing: -thing.confidence):
        if thing.confidence >= MIN_CONFIDENCE and (name := normalise(thing.name)):
            things.setdefault(name, thing)
    return things


def _spellings(things: Mapping[str, ExtractedEntity]) -> dict[str, str]:
    """Names and aliases by their normalised form, as the model wrote them."""
    spellings = {name: thing.name for name, thing in things.items()}
    for thing in things.values():
        for alias in filter(normalise, thing.aliases):
            spellings.setdefault(normalise(alias), alias)
    return spellings


def _places(chunks: Sequence[ChunkDraft], spellings: Mapping[str, str]) -> _Places:
    """Where each name stands; a single word where it has the name's capitals, if anywhere.

    Without them a function word is none: "who" is not the WHO.
    """
    places: dict[str, list[_Place]] = defaultdict(list)
    for chunk in chunks:
        text = chunk["text"]
        for one in stand_in_text({name: name for name in spellings}, text):
            words = " ".join(text[one.start : one.end].split())
            places[one.name].append(_Place(chunk["index"], one.start, words))
    kept: dict[str, list[_Place]] = {}
    for name, stand in places.items():
        alike = [one for one in stand if " " in name or keeps_capitals(spellings[name], one.words)]
        kept[name] = alike or ([] if STOP_WORDS.issuperset(name.split()) else stand)
    return kept


def _key(name: str, type_: str) -> _Key:
    return normalise(name), type_


class _Entities:
    """The entities of a document: those that are known, and those that join them.

    An entity is kept under the key that it has offline, whatever type it gets.
    """

    def __init__(self, document: DocumentDraft) -> None:
        # What no chunk mentions is not stored, and must not matter when the document is read back.
        named = {_key(m["name"], m["type"]) for c in document["chunks"] for m in c["mentions"]}
        self._drafts: dict[_Key, EntityDraft] = {
            key: {**entity, "aliases": [*entity["aliases"]]}
            for entity in document["entities"]
            if (key := _key(entity["name"], entity["type"])) in named
        }
        self._types: dict[_Key, str] = {}
        self._called: dict[str, _Key] = {}
        for key in sorted(self._drafts, key=lambda key: key[1] == NAME):
            self._called.setdefault(key[0], key)
        for key, entity in self._drafts.items():
            for alias in entity["aliases"]:
                self._called.setdefault(normalise(alias), key)
        self.fresh: dict[int, set[End]] = defaultdict(set)
        """By chunk index: what stands there as only the model found."""

    def join(self, name: str, thing: ExtractedEntity, places: _Places) -> None:
        """Give a known name its type, or take a new one in if it stands anywhere."""
        key = self._called.get(name)
        if key is not None and key[1] == NAME:
            self._types.setdefault(key, TYPES[thing.type])
        elif key is None and places.get(name):
            key = (name, TYPES[thing.type])
            self._called[name] = key
            self._drafts[key] = EntityDraft(
                name=places[name][0].words,
                type=key[1],
                method=LLM,
                confidence=thing.confidence,
                aliases=[],
                properties={},
                embedding="",
            )

    def add_aliases(self, name: str, thing: ExtractedEntity, places: _Places) -> None:
        """Take in what else it is called, where that stands and nothing else is called so.

        Words of the name alone, such as a surname, mean it in this document: they are no alias.
        """
        key = self._called.get(name)
        if key is None:
            return
        for alias in thing.aliases:
            norm = normalise(alias)
            if places.get(norm) and norm not in self._called:
                self._called[norm] = key
                if not set(norm.split()) <= set(key[0].split()):
                    self._drafts[key]["aliases"].append(places[norm][0].words)

    def stand(self, places: _Places) -> dict[int, list[tuple[_Place, _Key]]]:
        """What stands in each chunk, by its index, in reading order, the longest first."""
        found: dict[int, list[tuple[_Place, _Key]]] = defaultdict(list)
        for name in places:
            if name in self._called:
                for place in places[name]:
                    found[place.chunk].append((place, self._called[name]))
        for inside in found.values():
            inside.sort(key=lambda one: (one[0].start, -len(one[0].words)))
        return found

    def mentioned(self, chunk: ChunkDraft, stand: Sequence[tuple[_Place, _Key]]) -> ChunkDraft:
        """The chunk with mentions of what stands in it; a name inside itself counts once."""
        mentions: dict[_Key, MentionDraft] = {}
        for mention in chunk["mentions"]:
            key = _key(mention["name"], mention["type"])
            type_ = self._types.get(key, key[1])
            mentions[key] = {**mention, "type": type_, "offsets": [*mention["offsets"]]}
        for place, key in stand:
            name, type_ = self.end(key)
            mention = mentions.setdefault(
                key,
                MentionDraft(
                    name=name,
                    type=type_,
                    offsets=[],
                    subject=False,
                    method=LLM,
                    confidence=self._drafts[key]["confidence"],
                ),
            )
            if not any(at <= place.start < at + len(name) for at in mention["offsets"]):
                mention["offsets"] = sorted([*mention["offsets"], place.start])
                self.fresh[chunk["index"]].add(self.end(key))
        return {**chunk, "mentions": list(mentions.values())}

    def find(self, name: str) -> End | None:
        """The entity of that name or alias."""
        key = self._called.get(normalise(name))
        return key and self.end(key)

    def end(self, key: _Key) -> End:
        """Name and type of an entity as it is now."""
        return self._drafts[key]["name"], self._types.get(key, key[1])

    def retyped(self, relation: RelationshipDraft) -> RelationshipDraft:
        """A relation that was found offline, between the ends as they are now."""
        (source, one), (target, other) = relation["source"], relation["target"]
        return {
            **relation,
            "source": (source, self._types.get(_key(source, one), one)),
            "target": (target, self._types.get(_key(target, other), other)),
        }

    def drafts(self) -> list[EntityDraft]:
        """All of them, those found offline first."""
        return [
            {**entity, "type": self._types.get(key, key[1])} for key, entity in self._drafts.items()
        ]


def _relate(
    relation: ExtractedRelation,
    passage: Sequence[ChunkDraft],
    entities: _Entities,
    relations: Relations,
) -> None:
    """Take a relation in when both its ends stand in the passage.

    The chunks in which both stand bear it out, else the first in which one of them does.
    """
    type_ = relation_type(relation.type)
    source, target = entities.find(relation.source), entities.find(relation.target)
    if relation.confidence < MIN_CONFIDENCE or not _TYPE.fullmatch(type_) or type_ in INFERRED:
        return
    if source is None or target is None:
        return
    pair = {source, target}
    named = {c["index"]: pair & {end_of(mention) for mention in c["mentions"]} for c in passage}
    if set().union(*named.values()) == pair:
        one = [index for index, ends in named.items() if ends]
        both = [index for index in one if named[index] == pair]
        for index in both or one[:1]:
            relations.add(source, target, type_, index, relation.confidence)
