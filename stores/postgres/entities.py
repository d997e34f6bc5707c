"""Entities in PostgreSQL: by name, by alias, across a typo, by full text and by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product
from typing import Any, Literal, LiteralString, cast

from psycopg.types.json import Json, Jsonb
from rapidfuzz.distance import OSA

from ..access import Access
from ..protocols import Vector
from ..records import ChunkEntity, Entity, Hit, LinkVia, NameMatch, NamespaceStats
from . import lookup_queries as queries
from .database import Database
from .queries import access_params, halfvec, numbers

__all__ = ["LONGEST_TYPO", "PostgresEntityStore", "deletes"]

SHORTEST_TYPO = 4
"""Letters. In a shorter word one changed letter makes another word, not a typo."""
LONGEST_TYPO = 64
"""Letters. The forms of a word grow with the square of its length."""
MOST_SPELLINGS = 1024
"""Tried of one name of several words, each of which may be several known ones."""

FEW_ENTITIES = 10_000
"""Entities that are compared one by one."""

TYPO_SCORE = 0.85
TEXT_SCORE = 0.7


class PostgresEntityStore:
    """An `EntityStore` on one database. Names are handed over normalised."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_exact(self, names: Sequence[str], *, access: Access) -> list[NameMatch]:
        """Entities whose normalised name or alias equals one of `names`; score 1, alias 0.95."""
        if not names:
            return []
        rows = await self._database.fetch(
            queries.FIND_EXACT, {"names": list(names), **access_params(access)}
        )
        return [
            _match(row["query"], row, row["via"], 1.0 if row["via"] == "exact" else 0.95)
            for row in rows
        ]

    async def find_similar(
        self, names: Sequence[str], *, limit: int, access: Access
    ) -> list[NameMatch]:
        """Up to `limit` entities a name that differ from it by at most one typo a word."""
        words = sorted({word for name in names for word in name.split() if _typable(word)})
        known = await self._known(words, access)
        asked = {
            place: spellings
            for place, name in enumerate(names)
            if (spellings := _spellings(name, known))
        }
        return await self._by_name(
            queries.FIND_SPELLINGS, "spellings", asked, names, "typo", limit=limit, access=access
        )

    async def find_text(
        self, names: Sequence[str], *, limit: int, access: Access
    ) -> list[NameMatch]:
        """Up to `limit` entities a name whose own name holds all its words, in any order."""
        asked = {place: words for place, name in enumerate(names) if (words := name.split())}
        return await self._by_name(
            queries.FIND_ALL_WORDS, "words", asked, names, "text", limit=limit, access=access
        )

    async def find_nearest(
        self,
        names: Sequence[str],
        embeddings: Vector,
        *,
        limit: int,
        min_cosine: float,
        access: Access,
    ) -> list[NameMatch]:
        """Up to `limit` entities a name (row of `embeddings`) by cosine, the score."""
        if not names:
            return []
        few = await self._few(access)
        rows = await self._database.fetch(
            queries.FIND_NEAREST_EXACT if few else queries.FIND_NEAREST,
            {
                "embeddings": [halfvec(row) for row in embeddings],
                "limit": limit,
                "min_cosine": min_cosine,
                "most": FEW_ENTITIES,
                **access_params(access),
            },
        )
        return [
            _match(names[row["place"] - 1], row, "vector", min(1.0, row["cosine"])) for row in rows
        ]

    async def similarity(
        self, ids: Sequence[int], *, embedding: Vector, access: Access
    ) -> list[Hit]:
        """Cosine of each entity's stored embedding with `embedding`, best first."""
        if not ids:
            return []
        rows = await self._database.fetch(
            queries.SIMILARITY,
            {"ids": numbers(ids), "embedding": halfvec(embedding), **access_params(access)},
        )
        return cast("list[Hit]", rows)

    async def mentions_in(self, chunks: Sequence[int], *, access: Access) -> list[ChunkEntity]:
        """The entities each chunk mentions: its subjects first, then by count."""
        if not chunks:
            return []
        rows = await self._database.fetch(
            queries.MENTIONS_IN, {"ids": numbers(chunks), **access_params(access)}
        )
        return cast("list[ChunkEntity]", rows)

    async def near_chunks(
        self, chunks: Sequence[int], *, limit: int, min_cosine: float, access: Access
    ) -> list[ChunkEntity]:
        """Up to `limit` entities a chunk by cosine of both stored embeddings."""
        if not chunks:
            return []
        rows = await self._database.fetch(
            queries.NEAR_CHUNKS_EXACT if await self._few(access) else queries.NEAR_CHUNKS,
            {
                "ids": numbers(chunks),
                "limit": limit,
                "min_cosine": min_cosine,
                "most": FEW_ENTITIES,
                **access_params(access),
            },
        )
        return cast("list[ChunkEntity]", rows)

    async def stats(self, *, access: Access) -> list[NamespaceStats]:
        """The size of each namespace of `access` that exists."""
        rows = await self._database.fetch(queries.STATS, access_params(access))
        return cast("list[NamespaceStats]", rows)

    async def _known(self, words: Sequence[str], access: Access) -> dict[str, list[str]]:
        """The words of entity names that each of these may be a misspelling of."""
        if not words:
            return {}
        rows = await self._database.fetch(
            queries.FIND_WORDS,
            {
                "words": list(words),
                "deletes": Json({word: " ".join(deletes(word)) for word in words}),
                **access_params(access),
            },
        )
        return {row["word"]: [w for w in row["known"] if _one_typo(row["word"], w)] for row in rows}

    async def _few(self, access: Access) -> bool:
        """Whether reading all entities is as fast as the vectors' index, and surer."""
        (held,) = await self._database.fetch(queries.COUNT_ENTITIES, access_params(access))
        return bool(held["entities"] <= FEW_ENTITIES)

    async def _by_name(
        self,
        query: LiteralString,
        param: str,
        asked: Mapping[int, Sequence[str]],
        names: Sequence[str],
        via: Literal["typo", "text"],
        *,
        limit: int,
        access: Access,
    ) -> list[NameMatch]:
        if not asked:
            return []
        rows = await self._database.fetch(
            query,
            {
                "places": list(asked),
                param: [Jsonb(list(words)) for words in asked.values()],
                "limit": limit,
                **access_params(access),
            },
        )
        return [
            _match(
                names[row["place"]],
                row,
                via,
                TYPO_SCORE
                if via == "typo"
                else TEXT_SCORE * min(1.0, len(names[row["place"]].split()) / row["length"]),
            )
            for row in rows
        ]


def deletes(word: str) -> list[str]:
    """`word` and every form of it that lacks one letter (symmetric deletes, W. Garbe 2012)."""
    return sorted({word, *(word[:i] + word[i + 1 :] for i in range(len(word)))})


def _typable(word: str) -> bool:
    return SHORTEST_TYPO <= len(word) <= LONGEST_TYPO and word.isalpha()


def _one_typo(word: str, known: str) -> bool:
    return _typable(known) and OSA.distance(word, known, score_cutoff=1) <= 1


def _spellings(name: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """The names that `name` may mean, each word as it stands or one typo apart."""
    choices = [
        list(dict.fromkeys([word, *known.get(word, [])])) if _typable(word) else [word]
        for word in name.split()
    ]
    return [" ".join(words) for words in islice(product(*choices), MOST_SPELLINGS)]


def _match(query: str, row: dict[str, Any], via: LinkVia, score: float) -> NameMatch:
    entity = Entity(id=row["id"], name=row["name"], type=row["type"], df=row["df"])
    return NameMatch(query=query, entity=entity, via=via, score=float(score))
