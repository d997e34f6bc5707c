"""The stores under test, each kind opened alike, and what is in them told by name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from clew.models.embeddings import unpack
from clew.models.names import normalise
from clew.stores.access import Access
from clew.stores.memory import (
    MemoryChunkStore,
    MemoryDocumentStore,
    MemoryEntityStore,
    MemoryGraphStore,
    MemoryRecord,
    MemorySectionStore,
)
from clew.stores.neo4j.dialect import Neo4j5
from clew.stores.neo4j.graph import Neo4jGraphStore
from clew.stores.neo4j.projection import Neo4jProjection
from clew.stores.postgres.database import Database
from clew.stores.postgres.outbox import PostgresOutbox
from clew.stores.projecting import send
from clew.stores.protocols import (
    ChunkStore,
    DocumentStore,
    EntityStore,
    GraphStore,
    SectionStore,
)
from clew.stores.records import ChunkEntity, DocumentDraft, Passage, Relationship
from clew.tests.bolt_server import Target, random_prefix
from clew.tests.stores.postgres.conftest import Stores
from clew.tests.stores.postgres.drafts import DIMENSION, EVERYTHING, reader, unit

__all__ = [
    "EVERYONE",
    "Backend",
    "Known",
    "memory_backend",
    "memory_record",
    "neo4j_backend",
    "postgres_backend",
]

EVERYONE = ("ada", "attacker", "bob", "eve", "victim")
"""Every principal that this suite writes for."""

MANY = 10_000


async def _nothing() -> None:
    """What is written is there at once."""


@dataclass(frozen=True)
class Known:
    """All that lies in some namespaces, whoever may read it, by id."""

    passages: dict[int, Passage]
    entities: dict[int, ChunkEntity]
    """With one of the chunks that mention it."""
    relationships: dict[int, Relationship]

    def chunk(self, text: str) -> int:
        """The only chunk of this text."""
        (found,) = [id_ for id_, one in self.passages.items() if one["text"] == text]
        return found

    def text(self, chunk: int) -> str:
        return self.passages[chunk]["text"]

    def entity(self, name: str) -> int:
        """The only entity of this name."""
        (found,) = [id_ for id_, one in self.entities.items() if one["name"] == name]
        return found

    def name(self, entity: int) -> str:
        return self.entities[entity]["name"]


@dataclass(frozen=True)
class Backend:
    """One implementation of every protocol, on one record."""

    name: str
    chunks: ChunkStore
    sections: SectionStore
    entities: EntityStore
    graph: GraphStore
    documents: DocumentStore
    settle: Callable[[], Awaitable[None]] = _nothing
    """Wait until what was written can be walked."""
    database: Database | None = None
    """The record's, where it has one."""

    async def write(self, *documents: DocumentDraft, namespace: str = "main") -> None:
        """Write documents that the store must not refuse."""
        report = await self.documents.write(documents, access=reader(namespace=namespace))
        assert not report["failed"], report["failed"]
        await self.settle()

    async def delete(self, *keys: str, namespace: str = "main") -> int:
        count = await self.documents.delete(keys, access=reader(namespace=namespace))
        await self.settle()
        return count

    async def weigh(self, *, namespace: str = "main") -> int:
        changed = await self.documents.weigh(access=reader(namespace=namespace))
        await self.settle()
        return changed

    async def compare(self, *, limit: int = MANY, namespace: str = "main") -> int:
        return await self.documents.compare_names(limit=limit, access=reader(namespace=namespace))

    async def known(self, *namespaces: str, principals: Sequence[str] = EVERYONE) -> Known:
        """What these principals may read, asked of the protocols alone."""
        access = Access(namespaces or ("main",), tuple(principals))
        hits = await self.chunks.search_vector(
            unit("any"), limit=MANY, filters=EVERYTHING, access=access
        )
        passages = await self.chunks.fetch(sorted(hit["id"] for hit in hits), access=access)
        rows = await self.entities.mentions_in([one["id"] for one in passages], access=access)
        entities = {row["id"]: row for row in rows}
        relations = await self.graph.relationships_among([*entities], limit=MANY, access=access)
        return Known(
            passages={one["id"]: one for one in passages},
            entities=dict(sorted(entities.items())),
            relationships={one["id"]: one for one in relations},
        )


def memory_record() -> MemoryRecord:
    return MemoryRecord(normalise=normalise, unpack=unpack, dimension=DIMENSION)


def memory_backend(record: MemoryRecord | None = None) -> Backend:
    """The reference."""
    record = memory_record() if record is None else record
    return Backend(
        name="memory",
        chunks=MemoryChunkStore(record),
        sections=MemorySectionStore(record),
        entities=MemoryEntityStore(record),
        graph=MemoryGraphStore(record),
        documents=MemoryDocumentStore(record),
    )


@asynccontextmanager
async def postgres_backend(dsn: str) -> AsyncIterator[Backend]:
    """The record."""
    stores = Stores.on(dsn)
    yield Backend(
        name="postgres",
        chunks=stores.chunks,
        sections=stores.sections,
        entities=stores.entities,
        graph=stores.graph,
        documents=stores.documents,
        database=stores.database,
    )
    await stores.database.close()


@asynccontextmanager
async def neo4j_backend(dsn: str, target: Target) -> AsyncIterator[Backend]:
    """The record with the walk on a copy of its graph, which hears of every write at once."""
    connection = target.connection(Neo4j5(random_prefix()))
    projection = Neo4jProjection(connection)
    async with postgres_backend(dsn) as backend:
        assert backend.database is not None
        outbox = PostgresOutbox(backend.database)

        async def settle() -> None:
            await send(outbox, projection, lambda _: None)

        await settle()
        yield replace(backend, name="neo4j", graph=Neo4jGraphStore(connection), settle=settle)
    await connection.close()
