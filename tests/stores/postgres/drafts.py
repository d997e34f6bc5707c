"""Documents made by hand, whose vectors are unit vectors and nothing more."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from clew.models.embeddings import pack
from clew.models.names import normalise
from clew.stores.access import Access
from clew.stores.protocols import Vector
from clew.stores.records import (
    ChunkDraft,
    DocumentDraft,
    EntityDraft,
    Filters,
    MentionDraft,
    RelationshipDraft,
)

DIMENSION = 384
NAME = "NAME"
EVERYTHING: Filters = {}
"""No condition on the documents."""

PUBLIC_ACL = ("public",)


def reader(*principals: str, namespace: str = "main") -> Access:
    return Access((namespace,), principals)


def unit(seed: int | str) -> Vector:
    """A direction of its own for every seed, and always the same one."""
    number = zlib.crc32(seed.encode("utf-8", "surrogatepass")) if isinstance(seed, str) else seed
    vector = np.random.default_rng(number).normal(size=DIMENSION).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def stored(vector: Vector) -> Vector:
    """What is left of a vector in the database, which keeps half precision."""
    return vector.astype(np.float16).astype(np.float32)


def cosine(one: Vector, other: Vector) -> float:
    a, b = one.astype(np.float64), other.astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def mention(name: str, *, count: int = 1, subject: bool = False, kind: str = NAME) -> MentionDraft:
    return MentionDraft(
        name=name,
        type=kind,
        offsets=list(range(count)),
        subject=subject,
        method="hand",
        confidence=1.0,
    )


def chunk(
    text: str,
    mentions: Iterable[str | MentionDraft] = (),
    *,
    header: str = "",
    embedding: Vector | None = None,
) -> ChunkDraft:
    """A chunk; its place in the document is given by `document`."""
    return ChunkDraft(
        index=0,
        header=header,
        headings=[],
        text=text,
        start=0,
        tokens=len(text.split()),
        embedding=pack(unit(text) if embedding is None else embedding),
        mentions=[mention(one) if isinstance(one, str) else one for one in mentions],
    )


def relation(
    source: str,
    kind: str,
    target: str,
    *,
    confidence: float = 1.0,
    evidence: Sequence[int] = (0,),
) -> RelationshipDraft:
    return RelationshipDraft(
        source=(source, NAME),
        target=(target, NAME),
        type=kind,
        confidence=confidence,
        evidence=list(evidence),
    )


def document(
    key: str,
    *chunks: ChunkDraft | str,
    title: str | None = None,
    acl: Iterable[str] = PUBLIC_ACL,
    category: str | None = None,
    date: str | None = None,
    metadata: dict[str, Any] | None = None,
    aliases: Mapping[str, Sequence[str]] | None = None,
    relations: Iterable[RelationshipDraft] = (),
    vectors: Mapping[str, Vector] | None = None,
) -> DocumentDraft:
    """A document; its entities are those its chunks mention, `aliases` and `vectors` by name."""
    placed, start = list[ChunkDraft](), 0
    for index, one in enumerate(chunks):
        bare = chunk(one) if isinstance(one, str) else one
        placed.append({**bare, "index": index, "start": start})
        start += len(bare["text"]) + 1
    names = {(m["name"], m["type"]): None for one in placed for m in one["mentions"]}
    entities = [
        EntityDraft(
            name=name,
            type=kind,
            method="hand",
            confidence=1.0,
            aliases=list((aliases or {}).get(name, ())),
            properties={},
            embedding=pack((vectors or {}).get(name, unit(normalise(name) + kind))),
        )
        for name, kind in names
    ]
    text = "\n".join(one["text"] for one in placed)
    return DocumentDraft(
        key=key,
        title=key if title is None else title,
        source=f"/{key}",
        category=category,
        date=date,
        metadata=metadata or {},
        acl=list(acl),
        language="english",
        text=text,
        content_hash=f"hash of {text}",
        chunks=placed,
        entities=entities,
        relationships=list(relations),
        links=[],
    )
