"""The synthetic collection: a few hubs that nearly everything touches, and a long tail.

Everything is drawn from one seed, so that two builds of a size are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AUDIENCES", "DIMENSION", "MAIN", "SMALL", "TYPES", "Collection", "draw"]

Ints = NDArray[np.int64]

MAIN, SMALL = "main", "small"
SMALL_SHARE = 0.01
"""Of everything, in the namespace of a small tenant."""
CHUNKS_A_DOCUMENT = 10
MENTIONS_A_CHUNK = 5
RELATIONS_A_CHUNK = 6
WORDS_A_CHUNK = 40
VOCABULARY = 100_000
TOPICS = 1_000
DIMENSION = 384
HUB_EXPONENT = 3.0
"""An entity is drawn as the share u³ of its namespace: the first gets a hundredth of a million."""
WORD_EXPONENT = 2.5
AUDIENCES = {"staff": 0.60, "legal": 0.29, "sales": 0.10, "audit": 0.01}
"""Principals of the main namespace, each with its share of the documents; nothing is public."""
TYPES = {
    "CO_OCCURS": (0.60, 0.7),
    "LINKS_TO": (0.20, 1.0),
    "WORKED_WITH": (0.08, 0.9),
    "PART_OF": (0.07, 0.8),
    "KNEW": (0.05, 0.9),
}
"""Relation types: share, and confidence. Few confidences and counts make many equal weights."""


@dataclass(frozen=True)
class Collection:
    """Arrays a row; entities and chunks are numbered from 1, the small namespace comes last."""

    size: int
    main: int
    """Entities and chunks 1 to `main` are of the main namespace."""
    audience: Ints
    """Of each document, from 0: a place in `AUDIENCES`, or len(AUDIENCES) for the public."""
    mentions: Ints
    """Rows of chunk, entity, count, subject (0 or 1)."""
    relationships: Ints
    """Rows of source, target, type, count; no two of the same source, target and type."""
    evidence: Ints
    """Rows of relationship, chunk."""
    vocabulary: NDArray[np.object_]

    def documents(self) -> int:
        """How many there are; document d holds chunks 10d - 9 to 10d."""
        return len(self.audience)

    def names(self) -> list[str]:
        """One a entity, of two or three words, all different."""
        rng = np.random.default_rng(2)
        first = self._words(rng, self.size, 20_000, 2.0)
        second = rng.integers(0, VOCABULARY, self.size)
        _, kept = np.unique(first * VOCABULARY + second, return_index=True)
        single = np.zeros(self.size, dtype=bool)
        single[kept] = True
        words = self.vocabulary
        # A row number in letters tells apart what would have the same two words.
        return [
            f"{words[a]} {words[b]}" if once else f"{words[a]} {words[b]} {_letters(i)}"
            for i, (a, b, once) in enumerate(
                zip(first.tolist(), second.tolist(), single.tolist(), strict=True)
            )
        ]

    def texts(self) -> Iterator[list[str]]:
        """The chunks' texts, ten thousand at a time."""
        rng = np.random.default_rng(3)
        for begin in range(0, self.size, 10_000):
            rows = min(10_000, self.size - begin)
            drawn = self._words(rng, rows * WORDS_A_CHUNK, VOCABULARY, WORD_EXPONENT)
            table = self.vocabulary[drawn].reshape(rows, WORDS_A_CHUNK)
            yield [" ".join(row) for row in table.tolist()]

    def vectors(self, rows: int, seed: int) -> Iterator[NDArray[np.float32]]:
        """Unit vectors around `TOPICS` centres, ten thousand at a time."""
        centres = np.random.default_rng(4).normal(size=(TOPICS, DIMENSION)).astype(np.float32)
        rng = np.random.default_rng(seed)
        for begin in range(0, rows, 10_000):
            some = min(10_000, rows - begin)
            made = centres[rng.integers(0, TOPICS, some)]
            made = made + rng.normal(size=(some, DIMENSION), scale=0.7).astype(np.float32)
            yield made / np.linalg.norm(made, axis=1, keepdims=True)

    @staticmethod
    def _words(rng: np.random.Generator, many: int, among: int, exponent: float) -> Ints:
        return (among * rng.random(many) ** exponent).astype(np.int64)


def draw(size: int) -> Collection:
    """A collection of `size` entities and as many chunks."""
    rng = np.random.default_rng(1)
    main = size - int(size * SMALL_SHARE)
    chunks = np.arange(1, size + 1)
    low = np.where(chunks <= main, 0, main)
    span = np.where(chunks <= main, main, size - main)
    popular = (span[:, None] * rng.random((size, MENTIONS_A_CHUNK - 1)) ** HUB_EXPONENT).astype(
        np.int64
    )
    own = np.concatenate([rng.permutation(main), rng.permutation(size - main)])
    entities = low[:, None] + 1 + np.concatenate([popular, own[:, None]], axis=1)
    pairs, places = np.unique(
        np.repeat(chunks, MENTIONS_A_CHUNK) * (size + 1) + entities.ravel(), return_index=True
    )
    subject = places % MENTIONS_A_CHUNK == MENTIONS_A_CHUNK - 1
    mentions = np.stack(
        [pairs // (size + 1), pairs % (size + 1), rng.geometric(0.6, len(pairs)), subject], axis=1
    )
    relationships, evidence = _relations(rng, size, entities)
    documents = -(-size // CHUNKS_A_DOCUMENT)
    audience = rng.choice(len(AUDIENCES), documents, p=list(AUDIENCES.values()))
    audience[main // CHUNKS_A_DOCUMENT :] = len(AUDIENCES)
    return Collection(size, main, audience, mentions, relationships, evidence, _vocabulary(rng))


def _relations(rng: np.random.Generator, size: int, entities: Ints) -> tuple[Ints, Ints]:
    """Pairs of entities that a chunk mentions, joined where several chunks bear them out."""
    ways = np.array([(i, j) for i in range(MENTIONS_A_CHUNK) for j in range(MENTIONS_A_CHUNK)])
    ways = ways[ways[:, 0] != ways[:, 1]]
    chosen = ways[rng.integers(0, len(ways), (size, RELATIONS_A_CHUNK))]
    rows = np.arange(size)[:, None]
    source, target = (
        entities[rows, chosen[:, :, 0]].ravel(),
        entities[rows, chosen[:, :, 1]].ravel(),
    )
    kind = rng.choice(len(TYPES), source.size, p=[share for share, _ in TYPES.values()])
    chunk = np.repeat(np.arange(1, size + 1), RELATIONS_A_CHUNK)
    apart = source != target
    keys = ((source * (size + 1) + target) * len(TYPES) + kind)[apart]
    found = np.unique(np.stack([keys, chunk[apart]], axis=1), axis=0)
    unique, inverse, counts = np.unique(found[:, 0], return_inverse=True, return_counts=True)
    ends = unique // len(TYPES)
    relationships = np.stack(
        [ends // (size + 1), ends % (size + 1), unique % len(TYPES), counts], axis=1
    )
    return relationships, np.stack([inverse + 1, found[:, 1]], axis=1)


def _vocabulary(rng: np.random.Generator) -> NDArray[Any]:
    """Words that can be pronounced, of two to four syllables."""
    syllables = np.array([c + v for c in "bcdfghjklmnprstvwz" for v in "aeiou"], dtype=object)
    drawn = syllables[rng.integers(0, len(syllables), (VOCABULARY * 2, 4))]
    lengths = rng.integers(2, 5, VOCABULARY * 2).tolist()
    words = dict.fromkeys("".join(w[:n]) for w, n in zip(drawn.tolist(), lengths, strict=True))
    return np.array(list(words)[:VOCABULARY], dtype=object)


def _letters(number: int) -> str:
    """A number as a word: no two are the same."""
    word = ""
    while number:
        number, digit = divmod(number, 26)
        word += chr(ord("a") + digit)
    return f"x{word}"
