"""Writing documents: each lands whole, in a transaction of its own, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from ..access import Access
from ..errors import InvalidInput
from ..records import DocumentDraft, WriteReport
from . import writes
from .chunks import halfvec, storable
from .database import Connection, Database
from .entities import LONGEST_TYPO, deletes

__all__ = ["PostgresDocumentStore"]

Unpack = Callable[[str], Any]

HASHES = """
    select key, content_hash from documents
     where namespace = any(%(namespaces)s) and key = any(%(keys)s) and enrichment = 'complete'
"""


class PostgresDocumentStore:
    """A `DocumentStore` on one database; `normalise` and `unpack` are the drafts' maker's."""

    def __init__(
        self,
        database: Database,
        *,
        language: str,
        normalise: Callable[[str], str],
        unpack: Unpack,
    ) -> None:
        self._database = database
        self._language = language
        self._normalise = normalise
        self._unpack = unpack

    async def hashes(self, keys: Sequence[str], *, access: Access) -> dict[str, str]:
        """Content hashes of those documents that are stored with enrichment complete."""
        rows = await self._database.fetch(
            HASHES, {"keys": list(keys), "namespaces": list(access.namespaces)}
        )
        return {row["key"]: row["content_hash"] for row in rows}

    async def write(self, documents: Sequence[DocumentDraft], *, access: Access) -> WriteReport:
        """Write or replace each document with everything of it in one transaction.

        A document that the database refuses is reported under `failed`; the others land.
        Raises `StoreUnavailable` when the database is gone: what landed until then stays.
        """
        namespace = _one(access)
        report = WriteReport(written=[], replaced=[], failed={})
        for document in documents:
            try:
                replaced = await self._write_one(document, namespace)
            except InvalidInput as error:
                report["failed"][document["key"]] = str(error)
            else:
                report["replaced" if replaced else "written"].append(document["key"])
        return report

    async def delete(self, keys: Sequence[str], *, access: Access) -> int:
        """Delete documents and what only they bore out; returns how many there were."""
        namespace = _one(access)
        return sum([await self._delete_one(key, namespace) for key in keys])

    async def _delete_one(self, key: str, namespace: str) -> bool:
        params = {"namespace": namespace, "key": key}

        async def take_out(connection: Connection) -> bool:
            await connection.execute(writes.LOCK, params)
            stored = await _exists(connection, params)
            if stored:
                await _remove(connection, params)
            return stored

        return await self._database.transact(take_out)

    async def _write_one(self, document: DocumentDraft, namespace: str) -> bool:
        params = self._params(document, namespace)

        async def put(connection: Connection) -> bool:
            await connection.execute(writes.ENSURE_NAMESPACE, params)
            await connection.execute(writes.LOCK, params)
            replaced = await _exists(connection, params)
            if replaced:
                await _remove(connection, params)
            async with connection.pipeline():
                for statement in writes.WRITE:
                    await connection.execute(statement, params)
            return replaced

        return await self._database.transact(put)

    def _params(self, document: DocumentDraft, namespace: str) -> dict[str, Any]:
        storable(document["text"])
        norm = self._normalise
        entities = {(norm(e["name"]), e["type"]): e for e in document["entities"]}
        mentions = {
            (chunk["index"], norm(m["name"]), m["type"]): m
            for chunk in document["chunks"]
            for m in chunk["mentions"]
            if (norm(m["name"]), m["type"]) in entities
        }
        frequency = Counter((name, kind) for _, name, kind in mentions)
        # What no chunk mentions would have no access list, and nothing would ever take it out.
        entities = {end: draft for end, draft in entities.items() if end in frequency}
        return {
            "namespace": namespace,
            "language": self._language,
            "key": storable(document["key"]),
            "title": storable(document["title"]),
            "source": storable(document["source"]),
            "category": document["category"],
            "date": document["date"],
            "metadata": Jsonb(document["metadata"]),
            "acl": sorted(set(document["acl"])),
            "content_hash": document["content_hash"],
            "total_chunks": len(document["chunks"]),
            "chunks": Jsonb(
                [
                    {
                        **{
                            key: chunk[key]
                            for key in ("index", "start", "header", "text", "tokens")
                        },
                        "embedding": halfvec(self._unpack(chunk["embedding"])),
                    }
                    for chunk in document["chunks"]
                ]
            ),
            "entities": Jsonb(
                [
                    {
                        **{
                            key: draft[key]
                            for key in ("name", "method", "confidence", "properties")
                        },
                        "norm": name,
                        "type": kind,
                        "df": frequency[name, kind],
                        "embedding": self._vector(draft["embedding"]),
                    }
                    for (name, kind), draft in entities.items()
                ]
            ),
            "words": Jsonb(
                [
                    {"word": word, "deletes": deletes(word)}
                    for word in sorted({word for name, _ in entities for word in name.split()})
                    if len(word) <= LONGEST_TYPO and any(map(str.isalnum, word))
                ]
            ),
            "aliases": Jsonb(
                [
                    {"alias": norm(alias), "norm": name, "type": kind}
                    for (name, kind), draft in entities.items()
                    for alias in draft["aliases"]
                    if norm(alias) not in ("", name)
                ]
            ),
            "mentions": Jsonb(
                [
                    {
                        "index": index,
                        "norm": name,
                        "type": kind,
                        "offsets": mention["offsets"],
                        "subject": mention["subject"],
                    }
                    for (index, name, kind), mention in mentions.items()
                ]
            ),
            "relationships": Jsonb(
                [
                    row
                    for row in _merged(document, norm)
                    if (row["source_norm"], row["source_type"]) in entities
                    and (row["target_norm"], row["target_type"]) in entities
                ]
            ),
        }

    def _vector(self, packed: str) -> str | None:
        return halfvec(self._unpack(packed)) if packed else None


def _merged(document: DocumentDraft, norm: Callable[[str], str]) -> list[dict[str, Any]]:
    """One row a relation, since names that differ only in writing are one entity."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for draft in document["relationships"]:
        (source, source_type), (target, target_type) = draft["source"], draft["target"]
        key = (norm(source), source_type, norm(target), target_type, draft["type"])
        if key[:2] == key[2:4]:
            continue
        row = rows.setdefault(
            key,
            {
                **dict(
                    zip(
                        ("source_norm", "source_type", "target_norm", "target_type", "type"),
                        key,
                        strict=True,
                    )
                ),
                "confidence": draft["confidence"],
                "evidence": [],
            },
        )
        row["confidence"] = max(row["confidence"], draft["confidence"])
        row["evidence"] = sorted({*row["evidence"], *draft["evidence"]})
    return list(rows.values())


def _one(access: Access) -> str:
    if not access.namespaces:
        raise InvalidInput("This caller may not use that namespace; name one of its own.")
    if len(access.namespaces) != 1:
        raise InvalidInput(
            f"Writing needs exactly one namespace, not {len(access.namespaces)}; name one."
        )
    return access.namespaces[0]


async def _exists(connection: Connection, params: dict[str, Any]) -> bool:
    cursor = await connection.execute(
        "select 1 from documents where namespace = %(namespace)s and key = %(key)s", params
    )
    return await cursor.fetchone() is not None


async def _remove(connection: Connection, params: dict[str, Any]) -> None:
    cursor = await connection.execute(writes.TOUCHED, params)
    touched = await cursor.fetchone()
    for statement in writes.REMOVE:
        await connection.execute(statement, {**params, **(touched or {})})
