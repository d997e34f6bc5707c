"""How well each type of entity is found, for whoever runs the database."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from typing_extensions import TypedDict

from ..access import Access
from .database import Database
from .entities import PostgresEntityStore

__all__ = ["TypeProfile", "profile_types"]

SAMPLED = 20
"""Names of a type that are looked up, spread over all its names."""

TYPES: Final = """
    select e.type as kind, count(*) as entities, count(e.embedding) as embedded,
           coalesce(avg(e.df), 0)::float8 as passages, coalesce(max(e.df), 0) as most
      from entities e where e.namespace = %(namespace)s
     group by e.type order by entities desc, e.type
"""

NAMES: Final = """
    select e.norm from entities e
     where e.namespace = %(namespace)s and e.type = %(kind)s
     order by md5(e.norm), e.id limit %(limit)s
"""


class TypeProfile(TypedDict):
    """One type: how many there are, in how many passages on average and at most, and what finding
    twenty of their names in full text takes, in milliseconds a name.
    """

    kind: str
    entities: int
    embedded: int
    passages: float
    most: int
    lookup_ms: float


async def profile_types(
    database: Database, entities: PostgresEntityStore, namespace: str, access: Access
) -> list[TypeProfile]:
    """The types of a namespace, the most frequent first; each is looked up beside the others."""

    async def profiled(row: dict[str, Any]) -> TypeProfile:
        params = {"namespace": namespace, "kind": row["kind"], "limit": SAMPLED}
        names = [found["norm"] for found in await database.fetch(NAMES, params)]
        begun = time.perf_counter()
        await entities.find_text(names, limit=5, access=access)
        took = (time.perf_counter() - begun) * 1000 / max(len(names), 1)
        return TypeProfile(
            kind=row["kind"],
            entities=row["entities"],
            embedded=row["embedded"],
            passages=row["passages"],
            most=row["most"],
            lookup_ms=took,
        )

    rows = await database.fetch(TYPES, {"namespace": namespace})
    return list(await asyncio.gather(*map(profiled, rows)))
