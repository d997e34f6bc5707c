"""Entities in PostgreSQL: by name, by alias, across a typo, by full text and by meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from psycopg.types.json import Json
from rapidfuzz.distance import DamerauLevenshtein

from ..access import Access
from ..protocols import Vector
from ..records import ChunkEntity, Entity, Hit, LinkVia, NameMatch, NamespaceStats
from . import queries
from .chunks import halfvec
from .database import Database
from .queries import access_params

__all__ = ["LONGEST_TYPO", "PostgresEntityStore", "deletes"]

SHORTEST_TYPO = 4
"""Letters. In a shorter word one changed letter makes another word, not a typo."""
LONGEST_TYPO = 64
"""Letters. The forms of a word grow with the square of its length."""
LONGEST_WORD = 500
"""Letters. Full text takes no word of more than 2046 bytes, four of which may be one letter."""

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

    async def find_similar(self, names: Sequence[str], *, access: Access) -> list[NameMatch]:
        """Entities whose name is one of `names` but for a typo a word."""
        words = sorted({word for name in names for word in name.split() if _typable(word)})
        if not words:
            return []
        rows = await self._database.fetch(
            queries.FIND_WORDS,
            {
                "words": words,
                "deletes": Json({word: " ".join(deletes(word)) for word in words}),
                **access_params(access),
            },
        )
        known = {
            row["word"]: [w for w in row["known"] if _one_typo(row["word"], w)] for row in rows
        }
        queried = []
        for name in names:
            choices = [
                known.get(word, []) if _typable(word) else [word] if _storable(word) else []
                for word in name.split()
            ]
            if choices and all(choices):
                groups = (" | ".join(map(_lexeme, choice)) for choice in choices)
                queried.append((name, " & ".join(f"({group})" for group in groups)))
        rows = await self._by_text([query for _, query in queried], limit=5, access=access)
        return [
            _match(queried[row["place"] - 1][0], row, "typo", TYPO_SCORE)
            for row in rows
            if len(row["norm"].split()) == len(queried[row["place"] - 1][0].split())
        ]

    async def find_text(
        self, names: Sequence[str], *, limit: int, access: Access
    ) -> list[NameMatch]:
        """Up to `limit` entities a name whose own name holds all its words, the tightest first."""
        asked = [name for name in names if _words(name)]
        rows = await self._by_text(
            [" & ".join(_words(name)) for name in asked], limit=limit, access=access
        )
        return [
            _match(name, row, "text", TEXT_SCORE * len(_words(name)) / len(row["norm"].split()))
            for row in rows
            for name in [asked[row["place"] - 1]]
        ]

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
        rows = await self._database.fetch(
            queries.FIND_NEAREST,
            {
                "embeddings": [halfvec(row) for row in embeddings],
                "limit": limit,
                "min_cosine": min_cosine,
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
            {"ids": list(ids), "embedding": halfvec(embedding), **access_params(access)},
        )
        return cast("list[Hit]", rows)

    async def mentions_in(self, chunks: Sequence[int], *, access: Access) -> list[ChunkEntity]:
        """The entities each chunk mentions: its subjects first, then by count."""
        if not chunks:
            return []
        rows = await self._database.fetch(
            queries.MENTIONS_IN, {"ids": list(chunks), **access_params(access)}
        )
        return cast("list[ChunkEntity]", rows)

    async def stats(self, *, access: Access) -> list[NamespaceStats]:
        """The size of each namespace of `access` that exists."""
        rows = await self._database.fetch(queries.STATS, access_params(access))
        return cast("list[NamespaceStats]", rows)

    async def _by_text(
        self, tsqueries: Sequence[str], *, limit: int, access: Access
    ) -> list[dict[str, Any]]:
        if not tsqueries:
            return []
        return await self._database.fetch(
            queries.FIND_ALL_WORDS,
            {"queries": list(tsqueries), "limit": limit, **access_params(access)},
        )


def deletes(word: str) -> list[str]:
    """`word` and every form of it that lacks one letter (symmetric deletes, W. Garbe 2012)."""
    return sorted({word, *(word[:i] + word[i + 1 :] for i in range(len(word)))})


def _typable(word: str) -> bool:
    return SHORTEST_TYPO <= len(word) <= LONGEST_TYPO and word.isalpha()


def _storable(word: str) -> bool:
    return len(word) <= LONGEST_WORD


def _one_typo(word: str, known: str) -> bool:
    return DamerauLevenshtein.distance(word, known, score_cutoff=1) <= 1


def _words(name: str) -> list[str]:
    """Words as a tsquery takes them without quoting."""
    return [word for word in name.split() if re.fullmatch(r"\w+", word) and _storable(word)]


def _lexeme(word: str) -> str:
    """Any word as a tsquery takes it."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _match(query: str, row: dict[str, Any], via: LinkVia, score: float) -> NameMatch:
    entity = Entity(id=row["id"], name=row["name"], type=row["type"], df=row["df"])
    return NameMatch(query=query, entity=entity, via=via, score=float(score))
