"""What people write first, run on the same data: the answers to compare with, and their price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from psycopg import errors

from ...stores.access import Access
from ...stores.postgres.database import Database
from ...stores.postgres.queries import READABLE_IDS, access_params

__all__ = ["TIMEOUT", "exact_bm25", "exact_passages", "exact_vector", "recursive_walk"]

TIMEOUT = 10
"""Seconds after which a baseline is given up."""

RECURSIVE_WALK: Final = """
    with recursive walked (id, score, hop) as (
        select id, score::float8, 0 from unnest(%(ids)s::bigint[], %(scores)s::float8[]) as s (id, score)
        union all
        select case when r.source = w.id then r.target else r.source end, w.score * r.weight, w.hop + 1
          from walked w join relationships r on w.id in (r.source, r.target)
         where w.hop < %(hops)s
    )
    select w.id, max(w.score) as score
      from walked w join entities e on e.id = w.id
     where e.namespace = any(%(namespaces)s)
     group by w.id order by score desc, w.id limit 200
"""  # noqa: E501  # as it is usually written

EXACT_PASSAGES: Final = f"""
    select m.chunk_id as chunk, sum(w.weight) as weight
      from unnest(%(ids)s::bigint[], %(weights)s::float8[]) as w (id, weight)
      join mentions m on m.entity_id = w.id
      join entities e on e.id = m.entity_id
      join chunks c on c.id = m.chunk_id
     where e.namespace = any(%(namespaces)s) and c.audience = any{READABLE_IDS}
     group by m.chunk_id order by weight desc, m.chunk_id limit %(limit)s
"""

EXACT_BM25: Final = f"""
    with q as materialized (
        select t.id as term_id, ln(1 + (n.chunks - t.df + 0.5) / (t.df + 0.5))::float8 as idf,
               greatest(n.terms, 1)::float8 / greatest(n.chunks, 1) as average
          from namespaces n
         cross join lateral unnest(to_tsvector(n.language, %(question)s)) as w (lexeme, p, weights)
          join terms t on t.namespace = n.name and t.term = w.lexeme
         where n.name = any(%(namespaces)s)
    )
    select c.id, sum(q.idf * p.tf * 2.2
                     / (p.tf + 1.2 * (0.25 + 0.75 * c.term_count / q.average)))::float8 as score
      from q join postings p on p.term_id = q.term_id join chunks c on c.id = p.chunk_id
     where c.audience = any{READABLE_IDS}
     group by c.id order by score desc, c.id limit %(limit)s
"""

EXACT_VECTOR: Final = f"""
    select c.id from chunks c where c.audience = any{READABLE_IDS}
     order by (c.embedding <=> %(embedding)s::halfvec) + 0, c.id limit %(limit)s
"""


async def recursive_walk(
    database: Database, seeds: Mapping[int, float], hops: int, access: Access
) -> list[dict[str, Any]] | None:
    """All paths by a recursive query; None when it was given up after `TIMEOUT` seconds."""
    async with database.connection() as connection, connection.transaction():
        await connection.execute(f"set local statement_timeout = '{TIMEOUT}s'")
        try:
            cursor = await connection.execute(
                RECURSIVE_WALK,
                {
                    "ids": list(seeds),
                    "scores": list(seeds.values()),
                    "hops": hops,
                    **access_params(access),
                },
            )
            return await cursor.fetchall()
        except errors.QueryCanceled:
            return None


async def exact_passages(
    database: Database, weights: Mapping[int, float], limit: int, access: Access
) -> list[int]:
    """The heaviest chunks by joining and grouping every mention."""
    rows = await database.fetch(
        EXACT_PASSAGES,
        {
            "ids": list(weights),
            "weights": list(weights.values()),
            "limit": limit,
            **access_params(access),
        },
    )
    return [row["chunk"] for row in rows]


async def exact_bm25(database: Database, question: str, limit: int, access: Access) -> list[int]:
    """The best chunks by scoring every posting of every term."""
    params = {"question": question, "limit": limit, **access_params(access)}
    return [row["id"] for row in await database.fetch(EXACT_BM25, params)]


async def exact_vector(database: Database, embedding: str, limit: int, access: Access) -> list[int]:
    """The nearest chunks by comparing all."""
    params = {"embedding": embedding, "limit": limit, **access_params(access)}
    return [row["id"] for row in await database.fetch(EXACT_VECTOR, params)]
