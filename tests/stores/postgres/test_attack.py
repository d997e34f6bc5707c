"""An attacker who knows every string and every id of the victim learns nothing from any store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.postgres.chunks import PostgresChunkStore
from clew.stores.postgres.documents import PostgresDocumentStore
from clew.stores.postgres.entities import PostgresEntityStore
from clew.stores.postgres.graph import PostgresGraphStore
from clew.stores.postgres.sections import PostgresSectionStore
from clew.stores.records import DocumentDraft
from clew.stores.walk import Walk

from .conftest import Stores
from .crowd import ATTACKERS, FILTERS, FIRST, IDS, NAMES, TEXTS, VECTORS, VICTIM, crowd, own, secret


@pytest.fixture(scope="module")
async def crowded(template: str) -> AsyncIterator[Stores]:
    """A database that the tests of this file only read."""
    async with await psycopg.AsyncConnection.connect(template, autocommit=True) as connection:
        await connection.execute("create database crowded template clew_template")
        stores = Stores.on(make_conninfo(template, dbname="crowded"))
        await crowd(stores)
        yield stores
        await stores.database.close()
        await connection.execute("drop database crowded with (force)")


async def by_vector(s: Stores, a: Access) -> object:
    return [
        await s.chunks.search_vector(vector, limit=99, filters=filters, access=a)
        for vector in VECTORS
        for filters in FILTERS
    ]


async def by_text(s: Stores, a: Access) -> object:
    return [
        await s.chunks.search_text(question, limit=99, filters=filters, access=a)
        for question in TEXTS
        for filters in FILTERS
    ]


WALKS: list[dict[str, Any]] = [
    {},
    {"type_weights": {"VEXES": 1.0}},
    {"type_weights": {"VEXES": 1.0}, "default_weight": 0.0},
    {"type_weights": {"KNOWS": 0.1}, "default_weight": 1.0},
    {"date_from": "2000-01-01", "date_to": "2000-01-01"},
]


async def walked(s: Stores, a: Access) -> object:
    return [
        await s.graph.expand(
            dict.fromkeys(seeds, 0.5), walk=Walk(hops=hops, limit=limit, **how), access=a
        )
        for hops in (1, 2, 3)
        for limit in (1, 99)
        for how in WALKS
        for seeds in (IDS, [one for one in IDS if one >= FIRST], [1])
    ]


async def linked(s: Stores, a: Access) -> object:
    return [await s.chunks.links(IDS, max_df=99, fanout=n, access=a) for n in (1, 99)]


async def mentioned(s: Stores, a: Access) -> object:
    return [
        await s.graph.mentions_of(dict.fromkeys(IDS, 0.5), limit=n, always=always, access=a)
        for n in (1, 99)
        for always in ([], IDS)
    ]


async def by_section(s: Stores, a: Access) -> object:
    return [
        await s.sections.search_sections(vector, limit=99, filters=filters, access=a)
        for vector in VECTORS
        for filters in FILTERS
    ]


async def by_span(s: Stores, a: Access) -> object:
    return [
        await s.sections.search_spans(given, VECTORS[0], limit=99, filters=filters, access=a)
        for given in (IDS, [one for one in IDS if one >= FIRST], [])
        for filters in FILTERS
    ]


async def nearest(s: Stores, a: Access) -> object:
    names = [str(n) for n in range(len(VECTORS))]
    return await s.entities.find_nearest(
        names, np.stack(VECTORS), limit=99, min_cosine=-1.0, access=a
    )


async def hashed(s: Stores, a: Access) -> object:
    """Whoever may write to a namespace is told what lies there: only the others are asked."""
    return [
        await s.documents.hashes(
            ["vex/private", "vex/tenant"], access=Access((name,), a.principals)
        )
        for name in a.namespaces
        if name != "shared"
    ]


Call = Callable[[Stores, Access], Awaitable[object]]

# Every public method that answers, with everything an attacker could hand over.
CALLS: dict[str, Call] = {
    "chunks.search_vector": by_vector,
    "chunks.search_text": by_text,
    "chunks.score": lambda s, a: s.chunks.score(
        IDS, embedding=VECTORS[0], question=TEXTS[0], filters={}, access=a
    ),
    "chunks.fetch": lambda s, a: s.chunks.fetch(IDS, access=a),
    "chunks.neighbours": lambda s, a: s.chunks.neighbours(IDS, reach=9, access=a),
    "chunks.links": linked,
    "entities.find_exact": lambda s, a: s.entities.find_exact(NAMES, access=a),
    "entities.find_similar": lambda s, a: s.entities.find_similar(NAMES, limit=99, access=a),
    "entities.find_text": lambda s, a: s.entities.find_text(NAMES, limit=99, access=a),
    "entities.find_nearest": nearest,
    "entities.similarity": lambda s, a: s.entities.similarity(IDS, embedding=VECTORS[3], access=a),
    "entities.mentions_in": lambda s, a: s.entities.mentions_in(IDS, access=a),
    "entities.near_chunks": lambda s, a: s.entities.near_chunks(
        IDS, limit=99, min_cosine=-1.0, access=a
    ),
    "entities.stats": lambda s, a: s.entities.stats(access=a),
    "graph.expand": walked,
    "graph.mentions_of": mentioned,
    "graph.relationships_among": lambda s, a: s.graph.relationships_among(IDS, limit=99, access=a),
    "sections.search_sections": by_section,
    "sections.search_spans": by_span,
    "documents.hashes": hashed,
}


def leaks(answer: object) -> Iterator[object]:
    """Whatever of the victim's stands anywhere in an answer."""
    if isinstance(answer, Mapping):
        yield from leaks([*answer.keys(), *answer.values()])
    elif isinstance(answer, list | tuple | set):
        for part in answer:
            yield from leaks(part)
    elif isinstance(answer, str):
        if "vex" in answer.lower():
            yield answer
    elif isinstance(answer, bool | float | None):
        return
    elif isinstance(answer, int):
        if answer >= FIRST:
            yield answer
    else:
        pytest.fail(f"nobody has looked for secrets in a {type(answer).__name__}")


def test_no_method_of_any_store_is_forgotten() -> None:
    stores = {
        "chunks": PostgresChunkStore,
        "entities": PostgresEntityStore,
        "graph": PostgresGraphStore,
        "sections": PostgresSectionStore,
        "documents": PostgresDocumentStore,
    }
    public = {
        f"{name}.{method}"
        for name, store in stores.items()
        for method in vars(store)
        if not method.startswith("_")
    }
    # Whether the store answers is nobody's secret, nor, within a namespace, how many there are.
    told = {"graph.healthy", "sections.unsectioned"}
    assert public == {*CALLS, "documents.write", "documents.delete", *told}


@pytest.mark.parametrize("method", CALLS)
async def test_an_attacker_learns_nothing(crowded: Stores, method: str) -> None:
    for who, access in ATTACKERS.items():
        assert not [*leaks(await CALLS[method](crowded, access))], who


@pytest.mark.parametrize("method", CALLS)
async def test_the_victim_sees_what_the_attacker_must_not(crowded: Stores, method: str) -> None:
    assert [*leaks(await CALLS[method](crowded, VICTIM))]


def nothing(answer: object) -> bool:
    return all(map(nothing, answer)) if isinstance(answer, list) else not answer


@pytest.mark.parametrize("method", CALLS)
async def test_who_may_enter_no_namespace_is_told_nothing_at_all(
    crowded: Stores, method: str
) -> None:
    assert nothing(await CALLS[method](crowded, Access((), ("victim", "public"))))


async def test_the_victims_rows_are_where_the_attacker_must_not_find_them(
    crowded: Stores,
) -> None:
    for table in ("mentions", "edges", "postings", "sections", "aliases"):
        numbers = [n for (n,) in await crowded.rows(f"select audience from {table}")]
        assert any(n >= FIRST for n in numbers), table
    kept = "select namespace, principals, id >= %(first)s from audiences order by id"
    assert await crowded.rows(kept, {"first": FIRST}) == [
        ("shared", ["public"], False),
        ("shared", ["attacker"], False),
        ("mine", ["public"], False),
        ("shared", ["victim"], True),
        ("shared", ["friend", "victim"], True),
        ("vexland", ["public"], True),
    ]


async def test_what_is_counted_lies_in_the_namespaces_of_whoever_asks(crowded: Stores) -> None:
    counted = {
        who: await crowded.sections.unsectioned(access=access) for who, access in ATTACKERS.items()
    }
    assert counted == {
        "nobody": 2,
        "the attacker": 2,
        "who spells principals": 2,
        "who spells namespaces": 0,
        "who asks beyond what he may": 2,
        "who may enter nothing": 0,
    }


async def test_the_attacker_still_sees_his_own(crowded: Stores) -> None:
    passages = await crowded.chunks.fetch(IDS, access=ATTACKERS["the attacker"])
    assert {one["document_id"] for one in passages} == {"open", "attackers", "mine"}
    passages = await crowded.chunks.fetch(IDS, access=ATTACKERS["nobody"])
    assert {one["document_id"] for one in passages} == {"open", "mine"}


async def test_a_public_relation_shows_only_the_evidence_that_may_be_read(crowded: Stores) -> None:
    access = Access(("shared",))
    (known,) = await crowded.graph.relationships_among(IDS, limit=9, access=access)
    readable = [one["id"] for one in await crowded.chunks.fetch(IDS, access=access)]
    assert (known["type"], known["count"]) == ("KNOWS", 6)
    assert known["evidence"] == readable[:1]


async def test_writing_and_deleting_do_not_reach_beyond_their_namespace(stores: Stores) -> None:
    await crowd(stores)
    before = [await stores.snapshot(name) for name in ("vexland", "shared")]
    keys = ["vex/private", "vex/tenant"]
    for name in ("mine", "Vexland", "vex%", ""):
        access = Access((name,), ("attacker",))
        stolen: DocumentDraft = {**secret("tenant", ["attacker"]), "title": "Mine now"}
        report = await stores.documents.write([stolen], access=access)
        assert not report["failed"]
        assert await stores.documents.delete(keys, access=access) == 1
    for access in (ATTACKERS["the attacker"], ATTACKERS["who may enter nothing"]):
        with pytest.raises(InvalidInput):
            await stores.documents.delete(keys, access=access)
        with pytest.raises(InvalidInput):
            await stores.documents.write([own("mine")], access=access)
    assert [await stores.snapshot(name) for name in ("vexland", "shared")] == before
