"""The questions put to the stores, and who puts them."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...stores.access import Access
from ...stores.postgres.chunks import PostgresChunkStore
from ...stores.postgres.database import Database
from ...stores.postgres.entities import PostgresEntityStore
from ...stores.postgres.graph import PostgresGraphStore
from ...stores.protocols import Vector
from ...stores.walk import Walk
from .dataset import AUDIENCES, DIMENSION, MAIN, SMALL

__all__ = ["CALLERS", "HOPS", "LIMIT", "SEEDS", "Ask", "Sample", "Workload", "sample"]

CALLERS = {
    "everything": Access((MAIN,), tuple(AUDIENCES)),
    "1% namespace": Access((SMALL,)),
    "10% readable": Access((MAIN,), ("sales",)),
    "1% readable": Access((MAIN,), ("audit",)),
}
"""Of the same database; the filter of each is inside every query."""

SEEDS = ("hub", "mixed", "leaf")
HOPS = (1, 2, 3)
LIMIT = 200
"""Entities a walk brings back, and chunks the entities lead to."""
SEEDS_A_WALK = 4

Ask = Callable[[], Awaitable[Any]]


@dataclass(frozen=True)
class Sample:
    """What one caller may ask about, drawn from what they may read."""

    hubs: list[int]
    leaves: list[int]
    names: list[str]
    texts: list[str]
    vectors: list[Vector] = field(repr=False)


HUBS = """
    select e.id from entities e
     where e.namespace = any(%(namespaces)s) and exists (
        select from mentions m join audiences a on a.id = m.audience
         where m.entity_id = e.id and a.principals && %(principals)s)
     order by e.df desc, e.id limit 50
"""
LEAVES = """
    select e.id, e.norm
      from chunks c join audiences a on a.id = c.audience
      join mentions m on m.chunk_id = c.id join entities e on e.id = m.entity_id
     where a.namespace = any(%(namespaces)s) and a.principals && %(principals)s and e.df <= 4
       and c.id %% %(every)s = 0
     limit 400
"""
TEXTS = """
    select c.text from chunks c join audiences a on a.id = c.audience
     where a.namespace = any(%(namespaces)s) and a.principals && %(principals)s
       and c.id %% %(every)s = 1
     limit 400
"""


async def sample(database: Database, access: Access, size: int) -> Sample:
    """Draw seeds, names and texts that this caller may read."""
    share = {SMALL: 0.01}.get(access.namespaces[0]) or sum(
        AUDIENCES[p] for p in access.principals if p in AUDIENCES
    )
    params = {
        "namespaces": list(access.namespaces),
        "principals": list(access.principals),
        "every": max(1, int(size * share / 500)),
    }
    hubs = [row["id"] for row in await database.fetch(HUBS, params)]
    leaves = await database.fetch(LEAVES, params)
    texts = [row["text"] for row in await database.fetch(TEXTS, params)]
    centres = np.random.default_rng(4).normal(size=(1000, DIMENSION))
    rng = np.random.default_rng(9)
    vectors = centres[rng.integers(0, 1000, 200)] + rng.normal(size=(200, DIMENSION), scale=0.7)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Sample(
        hubs=hubs,
        leaves=[row["id"] for row in leaves],
        names=[row["norm"] for row in leaves],
        texts=texts,
        vectors=list(vectors.astype(np.float32)),
    )


class Workload:
    """Makes the queries of one caller; the same seed makes the same queries."""

    def __init__(self, database: Database, access: Access, drawn: Sample, seed: int = 1) -> None:
        self._access = access
        self._drawn = drawn
        self._rng = random.Random(seed)
        self.chunks = PostgresChunkStore(database)
        self.entities = PostgresEntityStore(database)
        self.graph = PostgresGraphStore(database)

    def seeds(self, kind: str) -> dict[int, float]:
        """Four entities: hubs, leaves, or one hub among leaves."""
        hubs = {"hub": SEEDS_A_WALK, "mixed": 1, "leaf": 0}[kind]
        chosen = self._rng.sample(self._drawn.hubs, hubs)
        chosen += self._rng.sample(self._drawn.leaves, SEEDS_A_WALK - hubs)
        return dict(zip(chosen, (1.0, 0.9, 0.8, 0.7), strict=False))

    def walk(self, kind: str, hops: int, **weights: Any) -> Ask:
        """From four seeds, `LIMIT` entities back."""
        seeds, walk = self.seeds(kind), Walk(hops=hops, limit=LIMIT, **weights)
        return lambda: self.graph.expand(seeds, walk=walk, access=self._access)

    async def neighbourhood(self) -> dict[int, float]:
        """The entities of a walk over two hops from a hub and three leaves, weighed by rarity."""
        reached = await self.graph.expand(
            self.seeds("mixed"), walk=Walk(hops=2, limit=LIMIT), access=self._access
        )
        return {entity["id"]: 1 / max(entity["df"], 1) for entity in reached}

    def passages(self, weights: dict[int, float]) -> Ask:
        """From about two hundred entities to the chunks that mention them."""
        return lambda: self.graph.mentions_of(weights, limit=LIMIT, always=[], access=self._access)

    def exact(self) -> Ask:
        """Twenty n-grams of a question, three of which are names."""
        names = self._rng.sample(self._drawn.names, 3) + [
            " ".join(self._rng.choice(self._drawn.texts).split()[:2]) for _ in range(17)
        ]
        return lambda: self.entities.find_exact(names, access=self._access)

    def typo(self) -> Ask:
        """Two names with one letter left out."""
        names = [_misspelt(self._rng, name) for name in self._rng.sample(self._drawn.names, 2)]
        return lambda: self.entities.find_similar(names, limit=5, access=self._access)

    def text(self) -> Ask:
        """Two names of which one word is known, the rarer and the commoner."""
        names = [
            self._rng.choice(self._drawn.names).split()[0],
            self._rng.choice(self._drawn.names).split()[1],
        ]
        return lambda: self.entities.find_text(names, limit=5, access=self._access)

    def meaning(self) -> Ask:
        """Two names by the entities nearest in meaning."""
        vectors = np.stack([self.embedding(), self.embedding()])
        return lambda: self.entities.find_nearest(
            ["one", "other"], vectors, limit=5, min_cosine=0.0, access=self._access
        )

    def question(self) -> str:
        """Six words of a passage."""
        words = sorted(set(self._rng.choice(self._drawn.texts).split()))
        return " ".join(self._rng.sample(words, 6))

    def bm25(self) -> Ask:
        """The best hundred by BM25."""
        question = self.question()
        return lambda: self.chunks.search_text(question, limit=100, filters={}, access=self._access)

    def embedding(self) -> Vector:
        """Of a question near one of the topics."""
        return self._rng.choice(self._drawn.vectors)

    def vector(self) -> Ask:
        """The nearest hundred by cosine."""
        vector = self.embedding()
        return lambda: self.chunks.search_vector(vector, limit=100, filters={}, access=self._access)


def _misspelt(rng: random.Random, name: str) -> str:
    words: Sequence[str] = name.split()
    place = rng.randrange(2)
    word = words[place]
    cut = rng.randrange(1, len(word))
    return " ".join([*words[:place], word[:cut] + word[cut + 1 :], *words[place + 1 :]])
