"""A database of the first schema becomes one of today's with everything in it intact."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import psycopg
import pytest

from clew.stores.access import Access
from clew.stores.postgres import schema
from clew.stores.records import CO_OCCURS, DocumentDraft

from .conftest import Stores, consistent
from .drafts import (
    DIMENSION,
    EVERYTHING,
    chunk,
    document,
    history,
    leaning,
    reader,
    relation,
    story,
    unit,
)

NAMESPACES = ("one", "two")
ACLS = [
    ["public"],
    ["ada"],
    ["ada", "bob"],
    ["Zed", "ada"],
    ["a-b", "ab", "éva"],
    ["bob", "public"],
    ["ada", "public", "zoe"],
]

# The first schema kept on every row the access list of its document, or the union of several.
# What else a table kept is what it keeps today, under the same names.
UNION = """
    array(select distinct p
            from {found} join src.chunks c on c.id = f.chunk_id
            join src.documents d on d.id = c.document_id, unnest(d.acl) as p
           where {meant} order by p)
"""
VERSION_1 = {
    "namespaces": "name, language, documents, chunks, terms, entities, relationships",
    "documents": "id, namespace, key, title, source, category, document_date, metadata, acl,"
    " content_hash, total_chunks, enrichment",
    "chunks": "id, document_id, namespace, category, document_date, chunk_index, char_start,"
    " header, text, text_hash, tokens, language, term_count, entity_count, embedding",
    "terms": "id, namespace, term, df",
    "postings": "term_id, chunk_id, tf",
    "entities": "id, namespace, name, norm, type, method, confidence, properties, df, embedding",
    "aliases": "entity_id, document_id, namespace, norm",
    "name_words": "namespace, word, deletes",
    "mentions": "entity_id, chunk_id, count, offsets, subject",
    "relationships": "id, namespace, source, target, type, confidence, count, first_seen,"
    " last_seen",
    "evidence": "relationship_id, chunk_id",
}
ALSO = {
    "chunks": {"acl": "(select d.acl from src.documents d where d.id = t.document_id)"},
    "aliases": {"acl": "(select d.acl from src.documents d where d.id = t.document_id)"},
    "mentions": {
        "acl": "(select d.acl from src.documents d join src.chunks c on c.document_id = d.id"
        " where c.id = t.chunk_id)",
        "namespace": "(select c.namespace from src.chunks c where c.id = t.chunk_id)",
    },
    "entities": {"acl": UNION.format(found="src.mentions f", meant="f.entity_id = t.id")},
    "relationships": {
        "acl": UNION.format(found="src.evidence f", meant="f.relationship_id = t.id"),
        "weight": "(t.confidence * t.count / (t.count + 1))::real",
    },
}


def drafts() -> dict[str, list[DocumentDraft]]:
    """Documents that share terms, entities and relations across access lists."""
    rng = random.Random(8)
    made: dict[str, list[DocumentDraft]] = {
        name: [
            {**history(rng), "key": f"{place}", "acl": acl} for place, acl in enumerate(4 * ACLS)
        ]
        for name in NAMESPACES
    }
    made["one"] += [story(), document("bare", acl=["ada"]), document("mute", chunk("", []))]
    for name, drafted in made.items():
        drafted[:0] = [met(f"{name} {place}", acl) for place, acl in enumerate(ACLS)]
    return made


def met(key: str, acl: list[str]) -> DocumentDraft:
    """Names of which one stands in many other documents, and one in none."""
    together = [relation("Ada", CO_OCCURS, "Bob"), relation("Ada", CO_OCCURS, "Zeno")]
    meant = {"Ada": leaning(64), "Bob": leaning(60, 1), "Zeno": leaning(48, 2)}
    return document(
        key, chunk(key, ["Ada", "Bob", "Zeno"]), acl=acl, relations=together, vectors=meant
    )


async def prepared(dsn: str, monkeypatch: pytest.MonkeyPatch, *versions: int) -> None:
    """Bring a database up to an older schema."""
    with monkeypatch.context() as patch:
        scripts = {number: schema._migrations()[number] for number in versions}
        patch.setattr(schema, "_migrations", lambda: scripts)
        await migrated(dsn)


async def copied(source: str, target: str) -> None:
    """Fill the tables of the first schema from those of a database of today's."""
    async with (
        await psycopg.AsyncConnection.connect(source, autocommit=True) as old,
        await psycopg.AsyncConnection.connect(target, autocommit=True) as new,
    ):
        for table, columns in VERSION_1.items():
            more = ALSO.get(table, {})
            names = ", ".join([columns, *more])
            rows = f"select {', '.join([columns, *more.values()])} from src.{table} t"
            out = f"copy ({rows.replace('src.', 'clew.')}) to stdout"
            into = f"copy clew.{table} ({names}) from stdin"
            async with (
                old.cursor().copy(out.encode()) as read,
                new.cursor().copy(into.encode()) as write,
            ):
                async for block in read:
                    await write.write(block)
            if columns.startswith("id,"):
                last = f"(select coalesce(max(id), 0) + 1 from clew.{table})"
                name = f"pg_get_serial_sequence('clew.{table}', 'id')"
                await new.execute(f"select setval({name}, {last}, false)".encode())


async def migrated(dsn: str) -> list[int]:
    return await schema.migrate(dsn, model="some-model", dimension=DIMENSION)


@pytest.fixture
async def old(
    stores: Stores, dsn: str, empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stores]:
    """Stores on a migrated database that was written under the first schema; `stores` on a new."""
    await prepared(empty_dsn, monkeypatch, 1)
    for namespace, documents in drafts().items():
        await stores.write(*documents, namespace=namespace)
        assert await stores.documents.weigh(access=reader(namespace=namespace)) > 0
    await copied(dsn, empty_dsn)
    assert await migrated(empty_dsn) == [*range(2, schema.LATEST + 1)]
    opened = Stores.on(empty_dsn)
    yield opened
    await opened.database.close()


async def test_a_migrated_database_holds_what_a_new_one_would(stores: Stores, old: Stores) -> None:
    for namespace in NAMESPACES:
        after, expected = await old.snapshot(namespace), await stores.snapshot(namespace)
        for table in expected:
            assert after[table] == expected[table], table
        consistent(after)
        assert len(after["audiences"]) == 5, "what everyone may read is one"
        assert all(after[table] for table in expected if table not in ("sections", "alike"))


async def test_a_migration_weighs_co_occurrences_as_weighing_does(
    stores: Stores, old: Stores
) -> None:
    for namespace in NAMESPACES:
        assert await old.documents.weigh(access=reader(namespace=namespace)) == 0
        found = {
            (source, target): (weight, sure * count / (count + 1))
            for source, kind, target, count, weight, sure, *_ in (await old.snapshot(namespace))[
                "relationships"
            ]
            if kind == CO_OCCURS
        }
        assert found["ada", "zeno"][0] < found["ada", "zeno"][1]
        assert found["ada", "bob"][0] < found["ada", "zeno"][0], "they met as often"
        sizes = "select chunks, weighed_chunks from namespaces where name = %(name)s"
        assert await old.rows(sizes, {"name": namespace}) == await stores.rows(
            sizes, {"name": namespace}
        )


async def test_the_names_that_a_migration_finds_are_compared_by_the_next_run(
    stores: Stores, old: Stores
) -> None:
    for namespace in NAMESPACES:
        access, found = reader(namespace=namespace), []
        for one in (stores, old):
            names = len((await one.snapshot(namespace))["entities"])
            assert await one.documents.compare_names(limit=999, access=access) == names
            found.append((await one.snapshot(namespace))["alike"])
        assert found[0] == found[1]
        pairs = {(row[0], row[2]): row[-1] for row in found[1]}
        assert pairs["ada", "bob"] == pairs["bob", "ada"] == 0.9375
        assert ("ada", "zeno") not in pairs


async def test_a_copy_hears_of_what_a_migration_weighed(
    stores: Stores, dsn: str, empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepared(empty_dsn, monkeypatch, 1)
    await stores.write(story(), met("met", ["public"]))
    await copied(dsn, empty_dsn)
    await prepared(empty_dsn, monkeypatch, 1, 2)
    async with await psycopg.AsyncConnection.connect(empty_dsn, autocommit=True) as connection:
        await connection.execute("insert into clew.projections (name) values ('graph')")
        await migrated(empty_dsn)
        cursor = await connection.execute(
            "select o.kind, r.type from clew.outbox o join clew.relationships r on r.id = o.ref"
        )
        assert await cursor.fetchall() == [("relationship", CO_OCCURS)] * 2


async def test_a_migrated_database_is_made_as_a_new_one_is(stores: Stores, old: Stores) -> None:
    made = """
        select table_name, column_name, data_type, is_nullable, is_generated, collation_name
          from information_schema.columns where table_schema = 'clew'
         order by 1, 2
    """
    indexes = "select indexdef from pg_indexes where schemaname = 'clew' order by 1"
    checks = """
        select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint
         where connamespace = 'clew'::regnamespace order by 1, 2
    """
    for query in (made, indexes, checks):
        assert await old.rows(query) == await stores.rows(query)
    versions = "select version from migrations order by version"
    assert await old.rows(versions) == [(n,) for n in range(1, schema.LATEST + 1)]


async def test_what_may_be_read_after_a_migration_is_what_could_be_before(
    stores: Stores, old: Stores
) -> None:
    ids = [id_ for (id_,) in await stores.rows("select id from chunks")]
    entities = [id_ for (id_,) in await stores.rows("select id from entities")]
    for principal in ("nobody", "ada", "bob", "Zed", "éva", "zoe"):
        access = Access(NAMESPACES, (principal,))
        found = [
            (
                await one.chunks.fetch(ids, access=access),
                await one.chunks.search_text(
                    "iron river", limit=999, filters=EVERYTHING, access=access
                ),
                await one.chunks.search_vector(
                    unit(3), limit=999, filters=EVERYTHING, access=access
                ),
                await one.entities.find_text(["ada", "bob"], limit=99, access=access),
                await one.entities.find_exact(["countess", "bobby"], access=access),
                await one.graph.relationships_among(entities, limit=999, access=access),
                await one.sections.search_spans(
                    [], unit(3), limit=999, filters=EVERYTHING, access=access
                ),
            )
            for one in (stores, old)
        ]
        assert found[0] == found[1]
        assert all(found[0])


async def test_a_migrated_database_is_written_to_like_a_new_one(
    stores: Stores, old: Stores
) -> None:
    rng = random.Random(9)
    for namespace in NAMESPACES:
        access = reader(namespace=namespace)
        for _ in range(6):
            draft: DocumentDraft = {**history(rng), "key": f"{rng.randint(0, 30)}"}
            draft["acl"] = rng.choice(ACLS)
            gone = [f"{rng.randint(0, 27)}"]
            for one in (stores, old):
                await one.write(draft, namespace=namespace)
                await one.documents.delete(gone, access=access)
        after = await old.snapshot(namespace)
        assert after == await stores.snapshot(namespace)
        consistent(after)
        keys = [row[0] for row in after["documents"]]
        assert await old.documents.delete(keys, access=access) == len(keys)
        left = await old.snapshot(namespace)
        assert left.pop("namespace") == [(0, 0, 0, 0, 0)]
        assert not any(left.values()), left


async def test_an_empty_database_of_the_first_schema_is_migrated_too(
    empty_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepared(empty_dsn, monkeypatch, 1)
    assert await migrated(empty_dsn) == [*range(2, schema.LATEST + 1)]
    opened = Stores.on(empty_dsn)
    await opened.write(story())
    consistent(await opened.snapshot())
    await opened.database.close()
