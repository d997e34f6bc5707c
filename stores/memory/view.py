"""What a record's documents amount to: entities, relations and statistics, derived from scratch."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..access import Access
from ..records import ChunkDraft, Entity, SectionDraft
from ..weights import relation_weight
from .vectors import Half, half

if TYPE_CHECKING:
    from .record import MemoryRecord, StoredDocument, StoredRelation

__all__ = [
    "STOP_WORDS",
    "Chunk",
    "EntityRow",
    "MentionRow",
    "NamespaceCounts",
    "Relation",
    "Section",
    "View",
    "terms",
]

STOP_WORDS = frozenset({"a", "an", "and", "in", "of", "or", "the", "to"})
"""Too common to be searched for; PostgreSQL's English list holds these and many more."""

WORD = re.compile(r"\w+")


def terms(text: str, stop_words: Collection[str]) -> Counter[str]:
    """How often each word occurs. Unlike PostgreSQL's, words are not stemmed."""
    return Counter(word for word in WORD.findall(text.lower()) if word not in stop_words)


@dataclass(slots=True, eq=False)
class Chunk:
    """A chunk, what it is about, and its words."""

    id: int
    document: StoredDocument
    draft: ChunkDraft
    vector: Half
    terms: Counter[str]
    mentions: list[MentionRow] = field(default_factory=list)

    def open_to(self, access: Access) -> bool:
        """A chunk is readable when its document is."""
        return self.document.open_to(access)


@dataclass(slots=True, eq=False)
class Section:
    """Consecutive chunks of one document, taken together."""

    id: int
    document: StoredDocument
    draft: SectionDraft
    vector: Half

    def holds(self, chunk: Chunk) -> bool:
        """Whether the chunk lies in it."""
        index = chunk.draft["index"]
        return (
            chunk.document is self.document
            and self.draft["span_start"] <= index <= self.draft["span_end"]
        )


@dataclass(slots=True, eq=False)
class EntityRow:
    """An entity, where it is mentioned, and what else which document calls it."""

    id: int
    namespace: str
    norm: str
    type: str
    name: str
    vector: Half | None
    mentions: list[MentionRow] = field(default_factory=list)
    aliases: list[tuple[str, StoredDocument]] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)

    @property
    def df(self) -> int:
        """How many chunks mention it, whoever may read them."""
        return len(self.mentions)

    def open_to(self, access: Access) -> bool:
        """An entity is readable when a readable chunk mentions it."""
        return any(mention.chunk.open_to(access) for mention in self.mentions)

    def told(self) -> Entity:
        """The entity as stores return it."""
        return Entity(id=self.id, name=self.name, type=self.type, df=self.df)


@dataclass(frozen=True, slots=True, eq=False)
class MentionRow:
    """An entity in a chunk."""

    chunk: Chunk
    entity: EntityRow
    count: int
    subject: bool


@dataclass(slots=True, eq=False)
class Relation:
    """A relation and how sure each chunk that bears it out makes it."""

    stored: StoredRelation
    source: EntityRow
    target: EntityRow
    type: str
    evidence: dict[Chunk, np.float32] = field(default_factory=dict)

    @property
    def id(self) -> int:
        """The number it was given."""
        return self.stored.id

    @property
    def weight(self) -> float:
        """In (0, 1], at single precision: what it weighed when it was last touched or weighed."""
        return self.stored.weight

    def open_to(self, access: Access) -> bool:
        """A relation is readable when a chunk of its evidence is."""
        return any(chunk.open_to(access) for chunk in self.evidence)

    @property
    def confidence(self) -> float:
        """As sure as the chunk that makes it surest."""
        return float(max(self.evidence.values()))

    def present_weight(self, chunks: int) -> float:
        """What it weighs now, in a namespace of so many chunks."""
        return float(
            np.float32(
                relation_weight(
                    self.type,
                    confidence=self.confidence,
                    count=len(self.evidence),
                    source_df=self.source.df,
                    target_df=self.target.df,
                    chunks=chunks,
                )
            )
        )

    @property
    def seen(self) -> tuple[str | None, str | None]:
        """The first and the last date of a document that bears it out."""
        dates = [chunk.document.prepared.draft["date"] for chunk in self.evidence]
        known = [date for date in dates if date is not None]
        return (min(known), max(known)) if known else (None, None)


@dataclass(slots=True)
class NamespaceCounts:
    """What BM25 must know of a namespace, whoever reads."""

    chunks: int = 0
    terms: int = 0
    df: Counter[str] = field(default_factory=Counter)


class View:
    """A record's content at one moment, by id in ascending order."""

    def __init__(self, record: MemoryRecord) -> None:
        entities = {
            name: EntityRow(
                id=entity.id,
                namespace=name[0],
                norm=name[1][0],
                type=name[1][1],
                name=entity.name,
                vector=None if entity.vector is None else half(entity.vector),
            )
            for name, entity in record.entities.items()
        }
        relations = {
            (namespace, source, target, kind): Relation(
                stored, entities[namespace, source], entities[namespace, target], kind
            )
            for (namespace, source, target, kind), stored in record.relations.items()
        }
        chunks, sections = list[Chunk](), list[Section]()
        self.counts: defaultdict[str, NamespaceCounts] = defaultdict(NamespaceCounts)
        for document in record.documents.values():
            namespace, prepared = document.namespace, document.prepared
            mine = {
                draft["index"]: Chunk(
                    id=document.chunk_ids[draft["index"]],
                    document=document,
                    draft=draft,
                    vector=half(vector),
                    terms=terms(f"{draft['header']} {draft['text']}", record.stop_words),
                )
                for draft, vector in zip(prepared.draft["chunks"], prepared.vectors, strict=True)
            }
            chunks += mine.values()
            sections += [
                Section(document.section_ids[draft["index"]], document, draft, half(vector))
                for draft, vector in zip(prepared.sections, prepared.section_vectors, strict=True)
            ]
            for said in prepared.mentions:
                chunk, entity = mine[said.chunk], entities[namespace, said.entity]
                mention = MentionRow(chunk, entity, said.count, said.subject)
                chunk.mentions.append(mention)
                entity.mentions.append(mention)
            for key, alias in prepared.aliases:
                entities[namespace, key].aliases.append((alias, document))
            for one in prepared.relationships:
                for place, confidence in one.evidence.items():
                    if place in mine:
                        relation = relations[namespace, one.source, one.target, one.type]
                        relation.evidence[mine[place]] = np.float32(confidence)
            counts = self.counts[namespace]
            for chunk in mine.values():
                counts.chunks += 1
                counts.terms += chunk.terms.total()
                counts.df.update(chunk.terms.keys())
        for relation in relations.values():
            relation.source.relations.append(relation)
            relation.target.relations.append(relation)
        self.chunks = {one.id: one for one in sorted(chunks, key=lambda one: one.id)}
        self.sections = {one.id: one for one in sorted(sections, key=lambda one: one.id)}
        self.entities = {one.id: one for one in sorted(entities.values(), key=lambda one: one.id)}
        self.relations = {one.id: one for one in sorted(relations.values(), key=lambda one: one.id)}
