"""What a copy of the graph keeps: rows as they are put and as they are read."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

__all__ = [
    "ProjectedAudience",
    "ProjectedDocument",
    "ProjectedEntity",
    "ProjectedKind",
    "ProjectedMention",
    "ProjectedRelationship",
]

ProjectedKind = Literal["audience", "entity", "relationship", "document"]
"""What a projection of the graph holds, in the order in which it must be put."""


class ProjectedAudience(TypedDict):
    """A namespace and the principals who may read what carries this id."""

    id: int
    namespace: str
    principals: list[str]


class ProjectedEntity(TypedDict):
    """An entity as a copy of the graph keeps it."""

    id: int
    namespace: str
    name: str
    type: str
    df: int


class ProjectedRelationship(TypedDict):
    """A relation as a copy of the graph keeps it; dates are ISO.

    `audiences`: those of its evidence, ascending. `evidence`: the first 50 chunks by id, and
    `evidence_audiences` the audience of each.
    """

    id: int
    namespace: str
    source: int
    target: int
    type: str
    weight: float
    confidence: float
    count: int
    first_seen: str | None
    last_seen: str | None
    audiences: list[int]
    evidence: list[int]
    evidence_audiences: list[int]


class ProjectedMention(TypedDict):
    """An entity in a chunk; `chunk_entities` counts all the entities the chunk mentions."""

    chunk: int
    entity: int
    count: int
    subject: bool
    chunk_entities: int


class ProjectedDocument(TypedDict):
    """The mentions in the chunks of one document, all of one audience; by chunk, then entity."""

    id: int
    namespace: str
    audience: int
    mentions: list[ProjectedMention]
