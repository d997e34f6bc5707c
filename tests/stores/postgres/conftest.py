"""The stores on a database of the test's own, and a look behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from clew.models.embeddings import unpack
from clew.models.names import normalise
from clew.stores.postgres.chunks import PostgresChunkStore
from clew.stores.postgres.database import Database
from clew.stores.postgres.documents import PostgresDocumentStore
from clew.stores.postgres.entities import PostgresEntityStore
from clew.stores.postgres.graph import PostgresGraphStore
from clew.stores.records import DocumentDraft

from .drafts import reader


@dataclass(frozen=True)
class Stores:
    """The four stores of one database."""

    database: Database
    chunks: PostgresChunkStore
    entities: PostgresEntityStore
    graph: PostgresGraphStore
    documents: PostgresDocumentStore

    @classmethod
    def on(cls, dsn: str, *, ef_search: int = 100) -> Stores:
        database = Database(dsn, pool_size=4, pool_timeout=20.0, ef_search=ef_search)
        return cls(
            database=database,
            chunks=PostgresChunkStore(database),
            entities=PostgresEntityStore(database),
            graph=PostgresGraphStore(database),
            documents=PostgresDocumentStore(
                database, language="english", normalise=normalise, unpack=unpack
            ),
        )

    async def write(self, *documents: DocumentDraft, namespace: str = "main") -> None:
        """Write documents that the database must not refuse."""
        report = await self.documents.write(documents, access=reader(namespace=namespace))
        assert not report["failed"], report["failed"]

    async def rows(self, query: str, params: Mapping[str, Any] | None = None) -> list[Any]:
        """The rows of any statement, as tuples."""
        async with self.database.connection() as connection:
            cursor = await connection.execute(query.encode(), params)
            return [tuple(row.values()) for row in await cursor.fetchall()]

    async def ids(self, table: str = "chunks", column: str = "text") -> dict[str, int]:
        """Ids by what a row is called, for rows whose names differ."""
        return dict(await self.rows(f"select {column}, id from {table}"))

    async def entity_ids(self, names: Sequence[str] = ()) -> dict[str, int]:
        known = await self.ids("entities", "name")
        return {name: known[name] for name in names} if names else known


@pytest.fixture
async def stores(dsn: str) -> AsyncIterator[Stores]:
    """The four stores on the test's own migrated, empty database."""
    opened = Stores.on(dsn)
    yield opened
    await opened.database.close()
