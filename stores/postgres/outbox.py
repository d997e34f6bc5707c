"""What a copy of the graph has not heard of yet, and the present state to tell it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, LiteralString

from ..errors import StoreUnavailable
from ..projected import ProjectedKind
from .database import Database

__all__ = ["PostgresOutbox"]

LOCK: Final = 0x4F757462
"""Key of the advisory lock: with two senders an old state could overwrite a newer one."""

# Writers hold the table's lock until they commit, so that none of them can finish between the
# snapshot that is sent and the registration that makes writers leave notes.
REGISTER: Final = (
    "lock table documents in share row exclusive mode",
    "insert into projections (name) values ('graph') on conflict do nothing",
    "truncate outbox",
    "insert into outbox (kind, ref) select 'audience', id from audiences order by id",
    "insert into outbox (kind, ref) select 'entity', id from entities order by id",
    "insert into outbox (kind, ref) select 'relationship', id from relationships order by id",
    "insert into outbox (kind, ref) select 'document', id from documents order by id",
)

# One statement, one snapshot: whoever sees a relation's note sees, and sends first, its entities'.
TAKE: Final = """
    select o.id, o.kind, o.ref
      from outbox o
     where o.kind = coalesce(
               (select kind from outbox where kind = 'audience' limit 1),
               (select kind from outbox where kind = 'entity' limit 1),
               (select kind from outbox where kind = 'relationship' limit 1),
               'document')
     order by o.id
     limit %(limit)s
"""

LAG: Final = """
    select count(*) as pending,
           coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as seconds
      from outbox
"""

_ROWS: Final[dict[ProjectedKind, LiteralString]] = {
    "audience": "select x.id, x.namespace, x.principals from audiences x",
    "entity": "select x.id, x.namespace, x.name, x.type, x.df from entities x",
    "relationship": """
        select x.id, x.namespace, x.source, x.target, x.type, x.weight::float8,
               x.confidence::float8, x.count, x.first_seen::text, x.last_seen::text,
               array(select g.audience from edges g
                      where g.relationship_id = x.id and g.forward order by g.audience
                    ) as audiences,
               proof.evidence, proof.evidence_audiences
          from relationships x
         cross join lateral (
            select coalesce(array_agg(v.chunk_id order by v.chunk_id), '{}') as evidence,
                   coalesce(array_agg(v.audience order by v.chunk_id), '{}') as evidence_audiences
              from (select v.chunk_id, c.audience
                      from evidence v join chunks c on c.id = v.chunk_id
                     where v.relationship_id = x.id order by v.chunk_id limit 50) v
         ) proof
    """,
    "document": """
        select x.id, x.namespace, x.audience,
               array(select jsonb_build_object('chunk', m.chunk_id, 'entity', m.entity_id,
                                               'count', m.count, 'subject', m.subject,
                                               'chunk_entities', c.entity_count)
                       from chunks c join mentions m on m.chunk_id = c.id
                      where c.document_id = x.id
                      order by m.chunk_id, m.entity_id) as mentions
          from documents x
    """,
}
BY_ID: Final[dict[ProjectedKind, LiteralString]] = {
    kind: rows + " where x.id = any(%(ids)s) order by x.id" for kind, rows in _ROWS.items()
}
AFTER: Final[dict[ProjectedKind, LiteralString]] = {
    kind: rows + " where x.id > %(after)s order by x.id limit %(limit)s"
    for kind, rows in _ROWS.items()
}


class PostgresOutbox:
    """The record's side of a projection of the graph."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def registered(self) -> bool:
        """Whether writers leave notes."""
        rows = await self._database.fetch("select 1 from projections", {})
        return bool(rows)

    async def register(self) -> None:
        """Have writers leave notes from now on, and note everything that is there already."""
        async with self._database.transaction() as connection:
            for statement in REGISTER:
                await connection.execute(statement)

    async def lag(self) -> tuple[int, float]:
        """How many notes wait, and for how many seconds the oldest has."""
        (row,) = await self._database.fetch(LAG, {})
        return row["pending"], row["seconds"]

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Be the only sender. Raises `StoreUnavailable` when another one is at it."""
        async with self._database.connection() as connection:
            cursor = await connection.execute("select pg_try_advisory_lock(%s) as mine", [LOCK])
            row = await cursor.fetchone()
            if row is None or not row["mine"]:
                raise StoreUnavailable(
                    "Another process is sending the graph to its copy; wait until it has finished."
                )
            try:
                yield
            finally:
                await connection.execute("select pg_advisory_unlock(%s)", [LOCK])

    async def take(self, limit: int) -> tuple[ProjectedKind, dict[int, list[int]]] | None:
        """The oldest notes of one kind: for each row, the notes about it. None: all is sent."""
        rows = await self._database.fetch(TAKE, {"limit": limit})
        if not rows:
            return None
        notes: dict[int, list[int]] = {}
        for row in rows:
            notes.setdefault(row["ref"], []).append(row["id"])
        return rows[0]["kind"], notes

    async def load(self, kind: ProjectedKind, ids: Sequence[int]) -> list[dict[str, Any]]:
        """The present state of those rows that still exist, ascending."""
        return await self._database.fetch(BY_ID[kind], {"ids": list(ids)})

    async def forget(self, notes: Sequence[int]) -> None:
        """Take these notes out: what they are about has been sent."""
        async with self._database.connection() as connection:
            await connection.execute("delete from outbox where id = any(%s)", [list(notes)])

    async def read(self, kind: ProjectedKind, *, after: int, limit: int) -> list[dict[str, Any]]:
        """The next rows of the record with ids above `after`, ascending."""
        return await self._database.fetch(AFTER[kind], {"after": after, "limit": limit})
