"""The copy of the graph, as it is written and compared with the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from ..projected import (
    ProjectedAudience,
    ProjectedDocument,
    ProjectedEntity,
    ProjectedKind,
    ProjectedRelationship,
)
from . import queries
from .connection import Neo4jConnection, Neo4jTransaction

__all__ = ["BATCH", "Neo4jProjection"]

T = TypeVar("T")

BATCH = 1000
"""How many rows one statement, and all but a large document one transaction, may carry."""


class Neo4jProjection:
    """A `GraphProjection` for one `Neo4jConnection`.

    Rows are written in batches ordered by id, which keeps writers from waiting for each other in a
    circle. Each batch lands whole or not at all, and so does each document.
    """

    def __init__(self, connection: Neo4jConnection) -> None:
        self._connection = connection
        self._dialect = connection.dialect

    async def prepare(self) -> None:
        """Create constraints and indexes, where the server knows such."""
        for statement in self._dialect.schema:
            await self._write([(statement, {})])

    async def put_audiences(self, rows: Sequence[ProjectedAudience]) -> None:
        """Create or overwrite."""
        for batch in _batches(rows, lambda row: row["id"]):
            packed = [self._packed(row, "principals") for row in batch]
            await self._write([(queries.PUT_AUDIENCES, {"rows": packed})])

    async def put_entities(self, rows: Sequence[ProjectedEntity]) -> None:
        """Create or overwrite."""
        for batch in _batches(rows, lambda row: row["id"]):
            await self._write([(queries.PUT_ENTITIES, {"rows": batch})])

    async def put_relationships(self, rows: Sequence[ProjectedRelationship]) -> None:
        """Create or overwrite, also where the ends have changed; unknown ends are skipped."""
        for batch in _batches(rows, lambda row: row["id"]):
            await self._connection.write(partial(self._put_relationships, batch))

    async def put_documents(self, rows: Sequence[ProjectedDocument]) -> None:
        """Create, or replace all mentions of each; mentions of unknown entities are skipped."""
        for batch in _by_size(sorted(rows, key=lambda row: row["id"])):
            chunks = {
                mention["chunk"]: {
                    "id": mention["chunk"],
                    "document": row["id"],
                    "audience": row["audience"],
                    "entities": mention["chunk_entities"],
                }
                for row in batch
                for mention in row["mentions"]
            }
            mentions = [mention for row in batch for mention in row["mentions"]]
            documents = [
                {"id": row["id"], "namespace": row["namespace"], "audience": row["audience"]}
                for row in batch
            ]
            await self._write(
                [
                    (queries.REMOVE_CHUNKS_OF, {"ids": [row["id"] for row in batch]}),
                    *_steps(queries.REMOVE_CHUNKS, "ids", chunks, lambda id_: id_),
                    *_steps(queries.PUT_DOCUMENTS, "rows", documents, lambda row: row["id"]),
                    *_steps(queries.PUT_CHUNKS, "rows", chunks.values(), lambda row: row["id"]),
                    *_steps(
                        queries.PUT_MENTIONS,
                        "rows",
                        mentions,
                        lambda row: (row["entity"], row["chunk"]),
                    ),
                ]
            )

    async def remove(self, kind: ProjectedKind, ids: Sequence[int]) -> None:
        """Take out those that are there; an entity takes its relations and mentions along."""
        for batch in _batches(set(ids), lambda id_: id_):
            params = {"ids": batch}
            steps = [(queries.REMOVE[kind], params)]
            if kind == "document":
                steps.insert(0, (queries.REMOVE_CHUNKS_OF, params))
            await self._write(steps)

    async def read(self, kind: ProjectedKind, *, after: int, limit: int) -> list[dict[str, Any]]:
        """The next rows with ids above `after`, ascending, shaped as they were put."""
        params = {"after": after, "limit": limit}

        async def work(transaction: Neo4jTransaction) -> list[dict[str, Any]]:
            rows = await transaction.run(_READ[kind], params)
            if kind == "document":
                return await self._with_mentions(transaction, rows)
            return [self._unpacked(row) for row in rows]

        return await self._connection.read(work)

    async def _put_relationships(
        self, rows: Sequence[ProjectedRelationship], transaction: Neo4jTransaction
    ) -> None:
        ends = {row["id"]: (row["source"], row["target"]) for row in rows}
        known = await transaction.run(queries.ENDS_OF_RELATIONSHIPS, {"ids": list(ends)})
        moved = [row["id"] for row in known if (row["source"], row["target"]) != ends[row["id"]]]
        if moved:
            await transaction.run(queries.REMOVE["relationship"], {"ids": moved})
        packed = [self._packed(row, "audiences", "evidence", "evidence_audiences") for row in rows]
        await transaction.run(queries.PUT_RELATIONSHIPS, {"rows": packed})

    async def _with_mentions(
        self, transaction: Neo4jTransaction, rows: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        mentions = defaultdict(list)
        ids = [row["id"] for row in rows]
        for mention in await transaction.run(queries.READ_MENTIONS, {"ids": ids}):
            mentions[mention.pop("document")].append(mention)
        return [{**row, "mentions": mentions[row["id"]]} for row in rows]

    async def _write(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        async def work(transaction: Neo4jTransaction) -> None:
            for statement, params in steps:
                await transaction.run(statement, params)

        await self._connection.write(work)

    def _packed(self, row: Mapping[str, Any], *lists: str) -> dict[str, Any]:
        return {**row, **{name: self._dialect.pack(row[name]) for name in lists}}

    def _unpacked(self, row: dict[str, Any]) -> dict[str, Any]:
        if "principals" in row:
            row["principals"] = self._dialect.unpack_texts(row["principals"])
        for name in ("audiences", "evidence", "evidence_audiences"):
            if name in row:
                row[name] = self._dialect.unpack_numbers(row[name])
        return row


_READ: Mapping[ProjectedKind, str] = {
    "audience": queries.READ_AUDIENCES,
    "entity": queries.READ_ENTITIES,
    "relationship": queries.READ_RELATIONSHIPS,
    "document": queries.READ_DOCUMENTS,
}


def _batches(rows: Iterable[T], key: Callable[[T], Any]) -> Iterator[list[T]]:
    ordered = sorted(rows, key=key)
    for start in range(0, len(ordered), BATCH):
        yield ordered[start : start + BATCH]


def _steps(
    statement: str, name: str, rows: Iterable[T], key: Callable[[T], Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """One statement for each batch of the rows, which it takes under `name`."""
    return ((statement, {name: batch}) for batch in _batches(rows, key))


def _by_size(rows: Iterable[ProjectedDocument]) -> Iterator[list[ProjectedDocument]]:
    """Whole documents, as many as have at most a batch of mentions between them."""
    batch: list[ProjectedDocument] = []
    size = 0
    for row in rows:
        weight = max(len(row["mentions"]), 1)
        if batch and size + weight > BATCH:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += weight
    if batch:
        yield batch
