"""The stores on a database of the test's own, and a look behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from psycopg.rows import tuple_row

from clew.models.embeddings import unpack
from clew.models.names import normalise
from clew.stores.postgres.chunks import PostgresChunkStore
from clew.stores.postgres.database import Database
from clew.stores.postgres.documents import PostgresDocumentStore
from clew.stores.postgres.entities import PostgresEntityStore
from clew.stores.postgres.graph import PostgresGraphStore
from clew.stores.postgres.sections import PostgresSectionStore
from clew.stores.prepared import Preparer
from clew.stores.records import CO_OCCURS, DocumentDraft
from clew.stores.weights import LEAST

from .drafts import DIMENSION, reader

SNAPSHOT = {
    "namespace": "select documents, chunks, terms, entities, relationships from namespaces"
    " where name = %(namespace)s",
    "documents": "select key, title, source, category, document_date, metadata::text, acl,"
    " content_hash, total_chunks, enrichment from documents where namespace = %(namespace)s",
    "chunks": "select d.key, c.chunk_index, c.char_start, c.header, c.text, c.text_hash, c.tokens,"
    " a.principals, c.category, c.document_date, c.term_count, c.entity_count, c.embedding::text"
    " from chunks c join documents d on d.id = c.document_id"
    " join audiences a on a.id = c.audience where c.namespace = %(namespace)s",
    "audiences": "select principals, chunks from audiences where namespace = %(namespace)s",
    "sections": "select d.key, s.section_index, s.span_start, s.span_end, s.text,"
    " s.embedding::text, a.principals from sections s join documents d on d.id = s.document_id"
    " join audiences a on a.id = s.audience where s.namespace = %(namespace)s",
    "terms": "select term, df from terms where namespace = %(namespace)s",
    "postings": "select d.key, c.chunk_index, t.term, p.tf, p.impact, a.principals"
    " from postings p"
    " join audiences a on a.id = p.audience join chunks c on c.id = p.chunk_id"
    " join documents d on d.id = c.document_id"
    " join terms t on t.id = p.term_id where t.namespace = %(namespace)s",
    "entities": "select norm, type, name, df from entities where namespace = %(namespace)s",
    "mentions": "select e.norm, e.type, d.key, c.chunk_index, m.count, m.offsets, m.subject,"
    " a.principals from mentions m"
    " join audiences a on a.id = m.audience join entities e on e.id = m.entity_id"
    " join chunks c on c.id = m.chunk_id"
    " join documents d on d.id = c.document_id where e.namespace = %(namespace)s",
    "aliases": "select e.norm, a.norm, d.key, r.principals from aliases a"
    " join entities e on e.id = a.entity_id join documents d on d.id = a.document_id"
    " join audiences r on r.id = a.audience"
    " where a.namespace = %(namespace)s",
    "alike": "select e.norm, e.type, o.norm, o.type, a.cosine from alike a"
    " join entities e on e.id = a.entity_id join entities o on o.id = a.other_id"
    " where e.namespace = %(namespace)s",
    "name_words": "select word, deletes from name_words where namespace = %(namespace)s",
    "relationships": "select s.norm, r.type, t.norm, r.count, r.weight, r.confidence,"
    " r.first_seen, r.last_seen from relationships r join entities s on s.id = r.source"
    " join entities t on t.id = r.target where r.namespace = %(namespace)s",
    "evidence": "select s.norm, r.type, t.norm, d.key, c.chunk_index, v.confidence from evidence v"
    " join relationships r on r.id = v.relationship_id join entities s on s.id = r.source"
    " join entities t on t.id = r.target join chunks c on c.id = v.chunk_id"
    " join documents d on d.id = c.document_id where r.namespace = %(namespace)s",
    "edges": "select n.norm, o.norm, g.type, g.forward, g.weight, g.first_seen, g.last_seen,"
    " a.principals from edges g join entities n on n.id = g.node join entities o on o.id = g.other"
    " join audiences a on a.id = g.audience where a.namespace = %(namespace)s",
}
"""Everything of one namespace that a reader could tell apart, without ids and times."""

Snapshot = dict[str, list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Stores:
    """The stores of one database."""

    database: Database
    chunks: PostgresChunkStore
    entities: PostgresEntityStore
    graph: PostgresGraphStore
    sections: PostgresSectionStore
    documents: PostgresDocumentStore

    @classmethod
    def on(cls, dsn: str, *, ef_search: int = 100) -> Stores:
        database = Database(dsn, pool_size=4, pool_timeout=20.0, ef_search=ef_search)
        return cls(
            database=database,
            chunks=PostgresChunkStore(database),
            entities=PostgresEntityStore(database),
            graph=PostgresGraphStore(database),
            sections=PostgresSectionStore(database),
            documents=PostgresDocumentStore(
                database,
                language="english",
                preparer=Preparer(normalise=normalise, unpack=unpack, dimension=DIMENSION),
            ),
        )

    async def write(self, *documents: DocumentDraft, namespace: str = "main") -> None:
        """Write documents that the database must not refuse."""
        report = await self.documents.write(documents, access=reader(namespace=namespace))
        assert not report["failed"], report["failed"]

    async def rows(self, query: str, params: Mapping[str, Any] | None = None) -> list[Any]:
        """The rows of any statement, as tuples."""
        async with self.database.connection() as connection:
            cursor = connection.cursor(row_factory=tuple_row)
            return await (await cursor.execute(query.encode(), params)).fetchall()

    async def snapshot(self, namespace: str = "main") -> Snapshot:
        """All that is kept for a namespace, table by table, in order."""
        params = {"namespace": namespace}
        return {
            table: sorted(await self.rows(query, params), key=repr)
            for table, query in SNAPSHOT.items()
        }

    async def ids(self, table: str = "chunks", column: str = "text") -> dict[str, int]:
        """Ids by what a row is called, for rows whose names differ."""
        return dict(await self.rows(f"select {column}, id from {table}"))

    async def entity_ids(self, names: Sequence[str] = ()) -> dict[str, int]:
        known = await self.ids("entities", "name")
        return {name: known[name] for name in names} if names else known


@pytest.fixture
async def stores(dsn: str) -> AsyncIterator[Stores]:
    """The stores on the test's own migrated, empty database."""
    opened = Stores.on(dsn)
    yield opened
    await opened.database.close()


def consistent(kept: Snapshot) -> None:
    """Hold the statistics against the rows they count."""
    postings, evidence, mentions = kept["postings"], kept["evidence"], kept["mentions"]
    assert dict(kept["terms"]) == Counter(term for _, _, term, *_ in postings)
    length, names = Counter[tuple[str, int]](), Counter((key, i) for _, _, key, i, *_ in mentions)
    for key, index, _, tf, *_ in postings:
        length[key, index] += tf
    readers = {row[0]: ["public"] if "public" in row[6] else row[6] for row in kept["documents"]}
    for key, index, _, tf, impact, principals in postings:
        crowd = 0.25 + 0.75 * length[key, index] / 128
        assert impact == pytest.approx(tf * 2.2 / (tf + 1.2 * crowd), rel=1e-5)
        assert principals == readers[key]
    for key, index, *_, terms, entities, _ in kept["chunks"]:
        assert (terms, entities) == (length[key, index], names[key, index])
    assert all(row[7] == readers[row[0]] for row in kept["chunks"])
    assert all(row[-1] == readers[row[2]] for row in mentions)
    audiences = Counter(tuple(row[7]) for row in kept["chunks"])
    assert {tuple(who): chunks for who, chunks in kept["audiences"]} == {
        who: audiences[who] for who in map(tuple, readers.values())
    }
    for norm, kind, _, df in kept["entities"]:
        assert df == sum(row[:2] == (norm, kind) for row in mentions)
    for source, kind, target, count, weight, confidence, first, last in kept["relationships"]:
        found = [row for row in evidence if row[:3] == (source, kind, target)]
        assert count == len(found)
        assert confidence == max(row[5] for row in found)
        sure = pytest.approx(confidence * count / (count + 1), abs=1e-6)
        # What a co-occurrence weighs hangs on when it was weighed.
        assert weight == sure or (kind == CO_OCCURS and LEAST <= weight < sure.expected)
        seen = {tuple(readers[row[3]]) for row in found}
        for node, other, forward in ((source, target, True), (target, source, False)):
            edges = [row for row in kept["edges"] if row[:4] == (node, other, kind, forward)]
            assert {tuple(row[-1]) for row in edges} == seen and len(edges) == len(seen)
            assert all(row[4:7] == (weight, first, last) for row in edges)
    counts = [len(kept[table]) for table in ("documents", "chunks", "entities", "relationships")]
    assert len(kept["edges"]) >= 2 * counts[3]
    assert kept["namespace"] == [(counts[0], counts[1], sum(length.values()), *counts[2:])]
