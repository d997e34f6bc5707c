"""Documents made by hand, whose vectors are unit vectors and nothing more."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from clew.models.embeddings import pack
from clew.models.names import normalise
from clew.stores.access import Access
from clew.stores.protocols import Vector
from clew.stores.records import (
    ChunkDraft,
    DocumentDraft,
    EntityDraft,
    Filters,
    Hit,
    MentionDraft,
    RelationshipDraft,
    SectionDraft,
)

DIMENSION = 384
NAME = "NAME"
EVERYTHING: Filters = {}
"""No condition on the documents."""

WORDS = ["iron", "gold", "lamp", "river", "cloud", "salt", "wolf", "king"]
"""Words that the English stemmer leaves alone."""

PUBLIC_ACL = ("public",)


def reader(*principals: str, namespace: str = "main") -> Access:
    return Access((namespace,), principals)


def unit(seed: int | str) -> Vector:
    """A direction of its own for every seed, and always the same one."""
    number = zlib.crc32(seed.encode("utf-8", "surrogatepass")) if isinstance(seed, str) else seed
    vector = np.random.default_rng(number).normal(size=DIMENSION).astype(np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def leaning(parts: int, side: int = 0) -> Vector:
    """A direction of 64 equal parts, 48 to all of which it shares with the others of its kind.

    Two on different sides have a cosine of the lesser number / 64: exactly, at half precision too.
    There are 20 sides.
    """
    vector = np.zeros(DIMENSION, dtype=np.float32)
    vector[:parts] = vector[64 + 16 * side :][: 64 - parts] = 0.125
    return vector


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
    embedding: NDArray[np.floating[Any]] | None = None,
) -> ChunkDraft:
    """A chunk; its place in the document is given by `document`."""
    return ChunkDraft(
        index=0,
        header=header,
        headings=[],
        text=text,
        start=0,
        tokens=len(text.split()),
        embedding=pack(unit(text) if embedding is None else embedding.astype(np.float32)),
        mentions=[mention(one) if isinstance(one, str) else one for one in mentions],
    )


def section(index: int, start: int, end: int, text: str) -> SectionDraft:
    """A section over the chunks from one index to another, both inside."""
    return SectionDraft(
        index=index, span_start=start, span_end=end, text=text, embedding=pack(unit(text))
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


def story(key: str = "story", *, acl: tuple[str, ...] = ("public",)) -> DocumentDraft:
    """A document with something in every table."""
    return document(
        key,
        chunk(
            "Ada met Bob in Turin.", [mention("Ada", count=2, subject=True), "Bob"], header="One"
        ),
        chunk("Bob left Turin.", ["Bob", "Turin"], header="Two"),
        title="A story",
        acl=acl,
        category="tale",
        date="1843-07-10",
        metadata={"pages": 2},
        aliases={"Ada": ["Countess of Lovelace"]},
        relations=[
            relation("Ada", "MET", "Bob", confidence=0.9),
            relation("Bob", "LEFT", "Turin", confidence=0.8, evidence=[0, 1]),
        ],
    )


def history(rng: random.Random, words: Sequence[str] = (*WORDS[:4], "the")) -> DocumentDraft:
    """A document over a vocabulary so small that documents share nearly all of it."""
    names = ["Ada", "Ada Lovelace", "Bob", "C", "C++", "!!!", "C++ Bob", "Turin", "\\/"]
    places = range(rng.randint(1, 3))
    drafts = []
    for _ in places:
        inside = [
            mention(name, count=rng.randint(1, 3), subject=rng.random() < 0.3)
            for name in rng.sample(names, rng.randint(0, 5))
        ]
        text = " ".join(rng.choices(words, k=rng.randint(0, 2 * len(words))))
        drafts.append(chunk(text, inside, embedding=unit(rng.randint(0, 9))))
    present = sorted({one["name"] for draft in drafts for one in draft["mentions"]})
    relations = []
    for _ in range(rng.randint(0, 5) if len(present) > 1 else 0):
        source, target = rng.sample(present, 2)
        kind, confidence = rng.choice([("MET", 0.9), ("LEFT", 0.7)])
        evidence = rng.sample(places, rng.randint(1, len(places)))
        relations.append(relation(source, kind, target, confidence=confidence, evidence=evidence))
    return document(
        rng.choice(["a", "b", "c", "d"]),
        *drafts,
        acl=rng.choice([["public"], ["ada"], ["bob", "ada"]]),
        date=rng.choice([None, "1843-01-01", "1900-12-31"]),
        aliases={name: rng.sample(["Countess", "Bobby"], rng.randint(0, 2)) for name in present},
        relations=relations,
    )


def library(seed: int) -> dict[str, list[DocumentDraft]]:
    """Documents to be searched, by namespace; the vector of a chunk is unit(key and index)."""
    rng = random.Random(seed)
    tags: list[dict[str, Any]] = [{}, {"tags": ["old", "rare"]}, {"tags": ["new"], "page": 2}]

    def words(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))

    def written(key: str) -> DocumentDraft:
        chunks = [
            chunk(words(30), header=rng.choice(["", words(2)]), embedding=unit(f"{key} {n}"))
            for n in range(rng.randint(1, 4))
        ]
        return document(
            key,
            *chunks,
            acl=rng.choice([["public"], ["ada"], ["bob"], ["ada", "bob"]]),
            category=rng.choice([None, "tale", "law"]),
            date=rng.choice([None, "1899-12-31", "1900-01-01", "1950-06-30", "1950-07-01"]),
            metadata=rng.choice(tags),
        )

    return {name: [written(f"{name} {n}") for n in range(18)] for name in ("one", "two")}


def same(hits: list[Hit], expected: Mapping[int, float], limit: int, within: float) -> None:
    """The hits are the best of the expected; what is as good as equal may stand either way."""
    best = sorted(expected.items(), key=lambda item: (-item[1], item[0]))[:limit]
    assert [hit["score"] for hit in hits] == pytest.approx([s for _, s in best], abs=within)
    assert [expected[hit["id"]] for hit in hits] == pytest.approx([s for _, s in best], abs=within)
    assert len({hit["id"] for hit in hits}) == len(best)
    assert hits == sorted(hits, key=lambda hit: (-hit["score"], hit["id"]))
