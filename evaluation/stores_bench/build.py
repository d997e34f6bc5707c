"""Load the collection into a database of its own, and build the indexes as an ingestion would."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ...stores.postgres import schema
from ...stores.postgres.entities import deletes
from . import statements
from .dataset import AUDIENCES, DIMENSION, MAIN, SMALL, TYPES, Collection

__all__ = ["MODEL", "Built", "build", "built", "database_name"]

MODEL = "synthetic"
ENTITY_VECTORS = 0.1
"""Share of the entities that have an embedding."""

Step = Callable[[str], None]
Built = dict[str, float]
"""Seconds a stage of building."""

LOADED = "clew.bench_loaded"

DROPPED: tuple[str, ...] = (
    "chunks_embedding", "entities_embedding", "postings_heaviest", "mentions_best",
    "edges_heaviest", "edges_typed", "entities_words_idx",
)  # fmt: skip
"""Indexes made after loading, each timed; the others are there from the start."""


def database_name(size: int) -> str:
    """Of the database that holds a collection of this size."""
    return f"clew_bench_{size}"


async def built(server: str, size: int) -> str | None:
    """The DSN of a finished collection of this size, if there is one."""
    async with await AsyncConnection.connect(server, autocommit=True) as connection:
        found = await connection.execute(
            "select 1 from pg_database where datname = %s", [database_name(size)]
        )
        if await found.fetchone() is None:
            return None
    dsn = _on(server, size)
    async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
        found = await connection.execute("select to_regclass(%s) is not null", [LOADED])
        row = await found.fetchone()
        state = await schema.inspect(dsn)
        return dsn if row and row[0] and state.version == schema.LATEST else None


async def build(server: str, collection: Collection, step: Step) -> tuple[str, Built]:
    """Drop what is there, load, index, vacuum; returns the DSN and the seconds of each stage."""
    name = sql.Identifier(database_name(collection.size))
    async with await AsyncConnection.connect(server, autocommit=True) as connection:
        await connection.execute(
            sql.SQL("drop database if exists {name} with (force)").format(name=name)
        )
        await connection.execute(sql.SQL("create database {name}").format(name=name))
    dsn = _on(server, collection.size)
    await schema.migrate(dsn, model=MODEL, dimension=DIMENSION)
    seconds: Built = {}
    async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute("set search_path = clew, public")
        await connection.execute("set synchronous_commit = off")
        await connection.execute("set session_replication_role = replica")  # no foreign-key checks
        await connection.execute("set maintenance_work_mem = '3GB'")
        await connection.execute("set work_mem = '512MB'")
        indexes = await _take_down(connection)
        for stage, work in _stages(connection, collection):
            step(stage)
            begun = time.perf_counter()
            await work()
            seconds[stage] = time.perf_counter() - begun
        for index, statement in indexes.items():
            step(f"index {index}")
            begun = time.perf_counter()
            await connection.execute(statement)
            seconds[f"index {index}"] = time.perf_counter() - begun
        step("vacuum")
        begun = time.perf_counter()
        await connection.execute("vacuum (analyze)")
        seconds["vacuum"] = time.perf_counter() - begun
        await connection.execute("create table bench_loaded as select now() as at")
        await connection.execute("checkpoint")
    return dsn, seconds


def _on(server: str, size: int) -> str:
    return make_conninfo("", **{**conninfo_to_dict(server), "dbname": database_name(size)})


async def _take_down(connection: AsyncConnection[Any]) -> dict[str, bytes]:
    """Drop the indexes to be timed; returns the statements that make them again."""
    statements = {}
    for name in DROPPED:
        found = await connection.execute(
            "select indexdef from pg_indexes where schemaname = 'clew' and indexname = %s", [name]
        )
        row = await found.fetchone()
        assert row is not None, name
        statements[name] = row[0].encode()
        await connection.execute(sql.SQL("drop index {}").format(sql.Identifier(name)))
    return statements


def _stages(connection: AsyncConnection[Any], c: Collection) -> Iterator[tuple[str, Any]]:
    async def run(*statements: LiteralString) -> None:
        for statement in statements:
            await connection.execute(statement)

    async def documents() -> None:
        for name, size in ((MAIN, c.main), (SMALL, c.size - c.main)):
            await connection.execute(
                "insert into namespaces"
                " (name, language, documents, chunks, weighed_chunks, entities)"
                " values (%s, 'english', %s, %s, %s, %s)",
                [name, size // 10, size, size, size],
            )
        for place, principal in enumerate([*AUDIENCES, "public"]):
            await connection.execute(
                "insert into audiences (id, namespace, principals) overriding system value"
                " values (%s, %s, %s)",
                [place + 1, SMALL if principal == "public" else MAIN, [principal]],
            )
        await run("create unlogged table drawn_documents (id int8, audience int8)")
        numbers = np.arange(1, c.documents() + 1)
        await _copy(connection, "drawn_documents", np.stack([numbers, c.audience + 1], axis=1))
        await run(statements.DOCUMENTS)

    async def chunks() -> None:
        await run(
            "create unlogged table drawn_texts (id int8, text text)",
            f"create unlogged table drawn_vectors (id int8, embedding halfvec({DIMENSION}))",
        )
        await _copy_vectors(connection, c.vectors(c.size, 5))
        await run(
            "create unlogged table drawn_mentions"
            " (chunk int8, entity int8, count int8, subject int8)"
        )
        await _copy(connection, "drawn_mentions", c.mentions)
        await _copy_texts(connection, "drawn_texts", (text for some in c.texts() for text in some))
        await run(statements.CHUNKS, "drop table drawn_texts", "truncate drawn_vectors")

    async def terms() -> None:
        await run(*statements.TERMS)

    async def entities() -> None:
        await run("create unlogged table drawn_names (id int8, text text)")
        names = c.names()
        await _copy_texts(connection, "drawn_names", names)
        await _copy_vectors(connection, c.vectors(int(c.size * ENTITY_VECTORS), 6))
        await connection.execute(
            statements.ENTITIES, {"main": c.main, "step": int(1 / ENTITY_VECTORS)}
        )
        words = sorted({word for name in names for word in name.split()})
        async with connection.cursor().copy(
            "copy name_words (namespace, word, deletes) from stdin"
        ) as copy:
            for namespace in (MAIN, SMALL):
                for word in words:
                    await copy.write_row((namespace, word, deletes(word)))

    async def relationships() -> None:
        await connection.execute(
            "create unlogged table drawn_relations"
            " (id int8, source int8, target int8, type int8, count int8)"
        )
        numbers = np.arange(1, len(c.relationships) + 1)[:, None]
        await _copy(
            connection, "drawn_relations", np.concatenate([numbers, c.relationships], axis=1)
        )
        await run("create unlogged table drawn_evidence (relation int8, chunk int8)")
        await _copy(connection, "drawn_evidence", c.evidence)
        await connection.execute(
            statements.RELATIONSHIPS,
            {
                "main": c.main,
                "types": list(TYPES),
                "confidences": [confidence for _, confidence in TYPES.values()],
            },
        )
        await run(statements.EVIDENCE)

    yield "documents", documents
    yield "chunks and vectors", chunks
    yield "terms and postings", terms
    yield "entities and names", entities
    yield "mentions", lambda: run(statements.MENTIONS, "drop table drawn_mentions")
    yield "relations and evidence", relationships
    yield "edges", lambda: run(statements.EDGES, *statements.FINISH)


HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
"""Of PostgreSQL's binary COPY format (its documentation, "COPY", "Binary Format")."""


async def _copy(connection: AsyncConnection[Any], table: str, rows: NDArray[Any]) -> None:
    """Send rows of int8 columns."""
    columns = rows.shape[1]
    row = np.dtype(
        [("columns", ">i2"), *((f"{n}{i}", t) for i in range(columns) for n, t in _INT8)]
    )
    made = np.zeros(len(rows), dtype=row)
    made["columns"] = columns
    for i in range(columns):
        made[f"length{i}"] = 8
        made[f"value{i}"] = rows[:, i]
    await _send(connection, table, (made[i : i + 100_000] for i in range(0, len(made), 100_000)))


_INT8 = (("length", ">i4"), ("value", ">i8"))


async def _copy_vectors(
    connection: AsyncConnection[Any], vectors: Iterable[NDArray[np.float32]]
) -> None:
    """Send vectors into `drawn_vectors`, numbered from 1, as pgvector's halfvec reads them."""
    row = np.dtype(
        [
            ("columns", ">i2"), ("id_length", ">i4"), ("id", ">i8"), ("length", ">i4"),
            ("dimension", ">i2"), ("unused", ">i2"), ("values", ">f2", (DIMENSION,)),
        ]
    )  # fmt: skip

    def blocks() -> Iterator[NDArray[Any]]:
        begin = 1
        for some in vectors:
            made = np.zeros(len(some), dtype=row)
            made["columns"], made["id_length"], made["length"] = 2, 8, 4 + 2 * DIMENSION
            made["id"] = np.arange(begin, begin + len(some))
            made["dimension"], made["values"] = DIMENSION, some
            begin += len(some)
            yield made

    await _send(connection, "drawn_vectors", blocks())


async def _send(
    connection: AsyncConnection[Any], table: str, blocks: Iterable[NDArray[Any]]
) -> None:
    statement = sql.SQL("copy {} from stdin (format binary)").format(sql.Identifier(table))
    async with connection.cursor().copy(statement) as copy:
        await copy.write(HEADER)
        for block in blocks:
            await copy.write(block.tobytes())
        await copy.write(b"\xff\xff")


async def _copy_texts(connection: AsyncConnection[Any], table: str, texts: Iterable[str]) -> None:
    """Send texts without tabs or backslashes, numbered from 1."""
    statement = sql.SQL("copy {} from stdin").format(sql.Identifier(table))
    block: list[str] = []
    async with connection.cursor().copy(statement) as copy:
        for number, text in enumerate(texts, start=1):
            block.append(f"{number}\t{text}\n")
            if len(block) == 10_000:
                await copy.write("".join(block))
                block.clear()
        await copy.write("".join(block))
