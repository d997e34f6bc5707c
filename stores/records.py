"""What stores take and return: plain dictionaries, which a checkpointed state can hold."""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

__all__ = [
    "CO_OCCURS",
    "ChunkDraft",
    "ChunkEntity",
    "ChunkScores",
    "DocumentDraft",
    "Entity",
    "EntityDraft",
    "Filters",
    "GivenGraph",
    "Hit",
    "LinkVia",
    "LinkedEntity",
    "Mention",
    "MentionDraft",
    "NameMatch",
    "NamespaceStats",
    "Passage",
    "PassageLink",
    "PathStep",
    "ReachedEntity",
    "Relationship",
    "RelationshipDraft",
    "SectionDraft",
    "SectionHit",
    "WriteReport",
]


CO_OCCURS: Final = "CO_OCCURS_WITH"
"""The type of relation that only says that two names stand together."""


class Filters(TypedDict, total=False):
    """Conditions on documents; every one given must hold."""

    category: list[str]
    """Any of these categories."""
    date_from: str
    """ISO date, inclusive; documents without a date do not match."""
    date_to: str
    """ISO date, inclusive."""
    metadata: dict[str, Any]
    """JSON containment: the document's metadata must hold all of this."""
    exclude: list[str]
    """Keys of documents that are left out."""


class Hit(TypedDict):
    """A row id and how well it matched; higher is better."""

    id: int
    score: float


class ChunkScores(TypedDict):
    """Both search scores of one chunk: cosine in [-1, 1] and BM25, at least 0."""

    id: int
    dense: float
    bm25: float


class Passage(TypedDict):
    """One readable chunk with what is needed to cite it."""

    id: int
    namespace: str
    document: int
    document_id: str
    """The document's key within its namespace: a path, or the id the source gave."""
    title: str
    source: str
    category: str | None
    date: str | None
    metadata: dict[str, Any]
    chunk_index: int
    total_chunks: int
    char_start: int
    """Where the text begins in its document, in characters."""
    header: str
    text: str
    text_hash: str


class Entity(TypedDict):
    """A name in the graph. `df` counts the chunks of its namespace that mention it."""

    id: int
    name: str
    type: str
    df: int


LinkVia = Literal["exact", "alias", "typo", "text", "vector", "anchor", "synonym"]


class ChunkEntity(Entity):
    """An entity as one chunk mentions it. `subject`: the chunk is titled or headed by it."""

    chunk: int
    count: int
    subject: bool


class NameMatch(TypedDict):
    """An entity that a looked-up name may mean. `score` in (0, 1]."""

    query: str
    entity: Entity
    via: LinkVia
    score: float


class LinkedEntity(Entity):
    """A seed of the walk: the entity, the words that led to it and how surely, in (0, 1]."""

    mention: str
    via: LinkVia
    score: float


class PathStep(TypedDict):
    """One relation walked, with its ends as they are stored; `weight` in (0, 1]."""

    source: str
    type: str
    target: str
    weight: float


class ReachedEntity(Entity):
    """An entity the walk arrived at; hop 0 is a seed. `score`: best path product, in (0, 1]."""

    hop: int
    score: float
    seed: int
    """The seed whose path this is; a seed's own id for itself."""
    path: list[PathStep]


class Mention(TypedDict):
    """An entity in a chunk. `chunk_entities` counts all the entities the chunk mentions."""

    entity: int
    chunk: int
    count: int
    subject: bool
    """The chunk is titled or headed by the entity."""
    chunk_entities: int


class Relationship(TypedDict):
    """A relation between two entities, with the chunks that bear it out."""

    id: int
    source: int
    target: int
    type: str
    weight: float
    confidence: float
    count: int
    evidence: list[int]


class PassageLink(TypedDict):
    """Two chunks joined by an entity.

    `titled`: the source mentions what the target is about. `titles`: the other way round.
    `shared`: both mention it, and few others do. `alike`: the target is about it, the source
    mentions a name that means nearly the same. What both are about joins nothing.
    """

    source: int
    target: int
    entity: int
    name: str
    df: int
    kind: Literal["titled", "titles", "shared", "alike"]


class SectionHit(TypedDict):
    """A section, with the chunk indexes it covers (inclusive) and its cosine in [-1, 1]."""

    id: int
    document: int
    span_start: int
    span_end: int
    score: float


class NamespaceStats(TypedDict):
    """How much a namespace holds, whoever may read it. `version` rises whenever it changes."""

    namespace: str
    version: int
    documents: int
    chunks: int
    entities: int
    relationships: int


class MentionDraft(TypedDict):
    """An entity found in one chunk: where, in characters of the chunk's text."""

    name: str
    type: str
    offsets: list[int]
    subject: bool
    method: str
    confidence: float


class ChunkDraft(TypedDict):
    """A chunk about to be written. `embedding` is base64 of little-endian float16, unit length."""

    index: int
    header: str
    headings: list[str]
    text: str
    start: int
    tokens: int
    embedding: str
    mentions: list[MentionDraft]


class SectionDraft(TypedDict):
    """Consecutive chunks of one document, taken together; the span's ends are inclusive."""

    index: int
    span_start: int
    span_end: int
    text: str
    embedding: str
    """As of a chunk."""


class EntityDraft(TypedDict):
    """An entity about to be written, once for each document that names it."""

    name: str
    type: str
    method: str
    confidence: float
    aliases: list[str]
    properties: dict[str, Any]
    embedding: str
    """As of a chunk; empty for what is only ever looked up as written, such as a date."""


class RelationshipDraft(TypedDict):
    """A relation about to be written; ends are (name, type) of entities of the same document."""

    source: tuple[str, str]
    target: tuple[str, str]
    type: str
    confidence: float
    evidence: list[int]
    """Indexes of the chunks that bear it out."""


class GivenGraph(TypedDict):
    """What a document says of its own graph: names, and [subject, predicate, object] each."""

    entities: list[str]
    triples: list[list[str]]


class DocumentDraft(TypedDict):
    """A document about to be written, whole."""

    key: str
    title: str
    source: str
    category: str | None
    date: str | None
    metadata: dict[str, Any]
    acl: list[str]
    language: str
    text: str
    content_hash: str
    chunks: list[ChunkDraft]
    sections: NotRequired[list[SectionDraft]]
    """Left out: the document is found by its chunks alone."""
    entities: list[EntityDraft]
    relationships: list[RelationshipDraft]
    links: list[str]
    """Names of other documents or entities that this one links to explicitly."""
    graph: NotRequired[GivenGraph]
    """Taken instead of what Clew would find; left out: its names are looked for."""
    pending: NotRequired[bool]
    """Yet to be read by a language model: it is found, but `hashes` does not tell of it."""
    instead_of: NotRequired[int]
    """The id of the row it was made from: refused once that is replaced or deleted."""


class WriteReport(TypedDict):
    """What writing a batch did, by document key."""

    written: list[str]
    replaced: list[str]
    failed: dict[str, str]
