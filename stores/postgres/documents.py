"""Writing documents: each lands whole, in a transaction of its own, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString, cast

from psycopg.types.json import Jsonb

from ..access import Access
from ..errors import InvalidInput
from ..prepared import Prepared, Preparer
from ..records import CO_OCCURS, DocumentDraft, WriteReport
from ..unfinished import CHANGED
from ..weights import outgrown
from . import weight_queries, writes
from .alike import compare_names
from .database import Connection, Database
from .entities import LONGEST_TYPO, deletes
from .queries import halfvec
from .stored import drafts, unfinished

__all__ = ["PostgresDocumentStore"]

# What a draft and its row call the same.
CHUNK = ("index", "start", "header", "text", "tokens")
SECTION = ("index", "span_start", "span_end", "text")
ENTITY = ("name", "method", "confidence", "properties")

WEIGHED_AT_ONCE = 2000
"""Relations weighed in one transaction: other writers wait for a fraction of a second."""

HASHES = """
    select key, content_hash from documents
     where namespace = %(namespace)s and key = any(%(keys)s) and enrichment = 'complete'
       and (not %(sectioned)s or sections > 0 or total_chunks = 0)
"""


class PostgresDocumentStore:
    """A `DocumentStore` on one database."""

    def __init__(self, database: Database, *, language: str, preparer: Preparer) -> None:
        self._database = database
        self._language = language
        self._preparer = preparer

    async def hashes(
        self, keys: Sequence[str], *, sectioned: bool = False, access: Access
    ) -> dict[str, str]:
        """Content hashes of those documents that are stored with enrichment complete."""
        rows = await self._database.fetch(
            HASHES,
            {
                "keys": list(keys),
                "sectioned": sectioned,
                "namespace": access.only_namespace(),
            },
        )
        return {row["key"]: row["content_hash"] for row in rows}

    async def write(self, documents: Sequence[DocumentDraft], *, access: Access) -> WriteReport:
        """Write or replace each document with everything of it in one transaction.

        A document that the database refuses is reported under `failed`; the others land.
        Raises `StoreUnavailable` when the database is gone: what landed until then stays.
        """
        namespace = access.only_namespace()
        report = WriteReport(written=[], replaced=[], failed={})
        for document in documents:
            try:
                replaced = await self._write_one(document, namespace)
            except InvalidInput as error:
                report["failed"][document["key"]] = str(error)
            else:
                report["replaced" if replaced else "written"].append(document["key"])
        return report

    async def unfinished(self, *, settled: Sequence[str] | None, access: Access) -> list[str]:
        """Keys of documents that wait for a language model, ascending."""
        return await unfinished(self._database, settled, access.only_namespace())

    async def drafts(self, keys: Sequence[str], *, access: Access) -> list[DocumentDraft]:
        """The documents as they were written, in the order of `keys`."""
        return await drafts(self._database, keys, access.only_namespace())

    async def forget_weights(self, *, access: Access) -> None:
        """Have the next weighing weigh all co-occurrences, however little the namespace grew."""
        never = {"namespace": access.only_namespace(), "chunks": 0}
        await self._database.transact(lambda c: c.execute(weight_queries.WEIGHED, never))

    async def delete(self, keys: Sequence[str], *, access: Access) -> int:
        """Delete documents and what only they bore out; returns how many there were."""
        namespace = access.only_namespace()
        return sum([await self._delete_one(key, namespace) for key in keys])

    async def compare_names(self, *, limit: int, access: Access) -> int:
        """Compare the next `limit` names with all of the namespace; returns how many there were.

        By the index when it pays, which may miss a pair.
        """
        return await compare_names(self._database, access.only_namespace(), limit)

    async def weigh(self, *, access: Access) -> int:
        """Weigh the co-occurrences of the namespace anew; returns how many have another weight.

        Does nothing until it has grown or shrunk by a fifth since that was last done. Writers take
        turns with the batches; a run that was killed is simply done again.
        """
        namespace = access.only_namespace()
        sizes = await self._database.fetch(weight_queries.SIZE, {"namespace": namespace})
        if not any(outgrown(size["chunks"], size["weighed_chunks"]) for size in sizes):
            return 0
        changed, after = 0, 0
        while ids := await self._co_occurrences(namespace, after):
            changed += await self._weigh_some(ids, namespace)
            after = ids[-1]
        done = {"namespace": namespace, "chunks": sizes[0]["chunks"]}
        await self._database.transact(lambda c: c.execute(weight_queries.WEIGHED, done))
        return changed

    async def _co_occurrences(self, namespace: str, after: int) -> list[int]:
        rows = await self._database.fetch(
            weight_queries.CO_OCCURRENCES,
            {
                "namespace": namespace,
                "type": CO_OCCURS,
                "after": after,
                "limit": WEIGHED_AT_ONCE,
            },
        )
        return [row["id"] for row in rows]

    async def _weigh_some(self, ids: list[int], namespace: str) -> int:
        async def work(connection: Connection) -> int:
            await connection.execute(writes.LOCK, {"namespace": namespace})
            lock, weigh = weight_queries.WEIGH
            await connection.execute(lock)
            cursor = await connection.execute(weigh, {"ids": ids, "namespace": namespace})
            row = await cursor.fetchone()
            assert row is not None
            return int(row["changed"])

        return await self._database.transact(work)

    async def _delete_one(self, key: str, namespace: str) -> bool:
        params = {"namespace": namespace, "key": key}

        async def take_out(connection: Connection) -> bool:
            await connection.execute(writes.LOCK, params)
            if await _stored(connection, params) is None:
                return False
            before = await _remove(connection, params)
            await _run(connection, weight_queries.SETTLE, {**params, "before": before})
            return True

        return await self._database.transact(take_out)

    async def _write_one(self, document: DocumentDraft, namespace: str) -> bool:
        # Checking and joining a long document would hold up everybody on the loop.
        params = await asyncio.to_thread(self._prepared, document, namespace)

        async def put(connection: Connection) -> bool:
            await connection.execute(writes.ENSURE_NAMESPACE, params)
            await connection.execute(writes.LOCK, params)
            stored = await _stored(connection, params)
            if document.get("instead_of", stored) != stored:
                raise InvalidInput(CHANGED)
            replaced = stored is not None
            before = await _remove(connection, params) if replaced else []
            async with connection.pipeline():
                await _run(connection, writes.WRITE, params)
                await _run(connection, weight_queries.SETTLE, {**params, "before": before})
            return replaced

        return await self._database.transact(put)

    def _prepared(self, document: DocumentDraft, namespace: str) -> dict[str, Any]:
        return _params(self._preparer.prepare(document), namespace, self._language)


def _some(row: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: row[key] for key in keys}


def _params(document: Prepared, namespace: str, language: str) -> dict[str, Any]:
    draft = document.draft
    frequency = document.frequency
    return {
        "namespace": namespace,
        "language": language,
        "key": draft["key"],
        "title": draft["title"],
        "source": draft["source"],
        "category": draft["category"],
        "date": draft["date"],
        "metadata": Jsonb(draft["metadata"]),
        "acl": sorted(set(draft["acl"])),
        "readers": document.readers,
        "content_hash": draft["content_hash"],
        "total_chunks": len(draft["chunks"]),
        "total_sections": len(document.sections),
        "enrichment": "pending" if draft.get("pending") else "complete",
        "chunks": Jsonb(
            [
                {
                    **_some(chunk, CHUNK),
                    "embedding": halfvec(vector),
                }
                for chunk, vector in zip(draft["chunks"], document.vectors, strict=True)
            ]
        ),
        "sections": Jsonb(
            [
                {**_some(section, SECTION), "embedding": halfvec(vector)}
                for section, vector in zip(document.sections, document.section_vectors, strict=True)
            ]
        ),
        "entities": Jsonb(
            [
                {
                    **_some(entity, ENTITY),
                    "norm": name,
                    "type": kind,
                    "df": frequency[name, kind],
                    "embedding": halfvec(document.entity_vectors[name, kind])
                    if (name, kind) in document.entity_vectors
                    else None,
                }
                for (name, kind), entity in document.entities.items()
            ]
        ),
        "words": Jsonb(
            [
                {"word": word, "deletes": deletes(word)}
                for word in sorted({word for name, _ in document.entities for word in name.split()})
                if len(word) <= LONGEST_TYPO and any(map(str.isalnum, word))
            ]
        ),
        "aliases": Jsonb(
            [
                {"alias": alias, "norm": name, "type": kind}
                for (name, kind), alias in document.aliases
            ]
        ),
        "mentions": Jsonb(
            [
                {
                    "index": mention.chunk,
                    "norm": mention.entity[0],
                    "type": mention.entity[1],
                    "count": mention.count,
                    "offsets": mention.offsets,
                    "subject": mention.subject,
                }
                for mention in document.mentions
            ]
        ),
        "relationships": Jsonb(
            [
                {
                    "source_norm": relation.source[0],
                    "source_type": relation.source[1],
                    "target_norm": relation.target[0],
                    "target_type": relation.target[1],
                    "type": relation.type,
                    "places": list(relation.evidence),
                    "confidences": list(relation.evidence.values()),
                }
                for relation in document.relationships
            ]
        ),
    }


async def _stored(connection: Connection, params: dict[str, Any]) -> int | None:
    """The id of the document, if there is one."""
    cursor = await connection.execute(
        "select id from documents where namespace = %(namespace)s and key = %(key)s", params
    )
    row = await cursor.fetchone()
    return None if row is None else int(row["id"])


async def _remove(connection: Connection, params: dict[str, Any]) -> list[int]:
    """Take the document out; returns the relations that it bore out."""
    cursor = await connection.execute(writes.TOUCHED, params)
    touched = await cursor.fetchone()
    assert touched is not None
    await _run(connection, writes.REMOVE, {**params, **touched})
    return cast("list[int]", touched["relationships"])


async def _run(
    connection: Connection, statements: Sequence[LiteralString], params: dict[str, Any]
) -> None:
    for statement in statements:
        await connection.execute(statement, params)
