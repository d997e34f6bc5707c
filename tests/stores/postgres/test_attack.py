"""An attacker who knows every string and every id of the victim learns nothing from any store.

Everything of the victim's contains `vex`, and every one of its rows has an id of at least `FIRST`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from clew.stores.access import Access, Identity
from clew.stores.errors import InvalidInput
from clew.stores.postgres.chunks import PostgresChunkStore
from clew.stores.postgres.documents import PostgresDocumentStore
from clew.stores.postgres.entities import PostgresEntityStore
from clew.stores.postgres.graph import PostgresGraphStore
from clew.stores.records import DocumentDraft, Filters

from .conftest import Stores
from .drafts import chunk, document, mention, relation, unit

FIRST = 10_000_000
IDS = list(range(1, 60)) + list(range(FIRST, FIRST + 60))
"""More ids than there are rows in any table, the attacker's and the victim's."""

TEXTS = ["vexed alpha beta", "alpha common vexing", "common"]
NAMES = [
    *("vexa", "vexalias", "vexadmiral", "vexo", "vexadmirall", "vexadmirol", "vex corp"),
    *("common", "commom", "common vexalias", "secret vexalias", "the vexa"),
]
FILTERS: list[Filters] = [
    {},
    {"category": ["vexcat", "open"]},
    {"metadata": {"vexkey": "vexvalue"}},
    {"date_from": "1800-01-01", "date_to": "2100-01-01"},
]
VECTORS = [unit(text) for text in TEXTS] + [unit("Vexa"), unit("Common")]

VICTIM = Access(("shared", "vexland"), ("victim",))
ATTACKERS = {
    "nobody": Access(("shared", "mine")),
    "the attacker": Access(("mine", "shared"), ("attacker",)),
    "who spells principals": Access(
        ("shared",), ("Victim", "victim ", "{victim}", "public,victim", "vic%", "", "*")
    ),
    "who spells namespaces": Access(("vexlan", "Vexland", "vex%", "shared,vexland", "", "*")),
    "who asks beyond what he may": Identity(("attacker",), ("mine", "shared")).access(
        ("shared", "vexland", "mine")
    ),
    "who may enter nothing": Access((), ("victim",)),
}


def secret(key: str, acl: Sequence[str]) -> DocumentDraft:
    """What the victim wrote, tied to names that the attacker may see."""
    return document(
        f"vex/{key}",
        chunk(
            TEXTS[0],
            [mention("Vexa", subject=True), "Common", "Vexadmiral", "Other"],
            header="Vex",
        ),
        chunk(TEXTS[1], [mention("Common", subject=True, count=9), "Vex Corp"], header="Vex"),
        title="Vex title",
        acl=acl,
        category="vexcat",
        date="2000-01-01",
        metadata={"vexkey": "vexvalue"},
        aliases={"Common": ["Vexalias", "Secret Vexalias"], "Vexa": ["Vexo"]},
        relations=[
            relation("Common", "VEXES", "Vexa"),
            relation("Vexadmiral", "VEXES", "Other", evidence=[0, 1]),
            relation("Common", "VEXES", "Other", evidence=[0, 1]),
            relation("Common", "KNOWS", "Other", evidence=[0, 1]),
        ],
    )


def own(key: str, acl: Sequence[str] = ("public",)) -> DocumentDraft:
    return document(
        key,
        chunk("alpha common things", ["Common", "Other"]),
        chunk("other common things", [mention("Other", subject=True), "Common"]),
        acl=acl,
        category="open",
        date="2001-01-01",
        relations=[relation("Common", "KNOWS", "Other")],
    )


async def crowd(stores: Stores) -> None:
    """Fill what the attacker may enter, and put the victim's rows in it and beside it."""
    await stores.write(own("open"), own("attackers", ["attacker"]), namespace="shared")
    await stores.write(own("mine"), namespace="mine")
    for table in ("documents", "chunks", "entities", "relationships", "terms"):
        restart = f"alter table {table} alter column id restart with {FIRST}"
        async with stores.database.connection() as connection:
            await connection.execute(restart.encode())
    await stores.write(secret("private", ["victim"]), namespace="shared")
    await stores.write(secret("tenant", ["public"]), namespace="vexland")


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


async def walked(s: Stores, a: Access) -> object:
    weights = {"VEXES": 1.0}
    return [
        await s.graph.expand(
            dict.fromkeys(seeds, 0.5),
            hops=hops,
            limit=99,
            fanout=99,
            type_weights=weights,
            access=a,
        )
        for hops in (1, 2, 3)
        for seeds in (IDS, [one for one in IDS if one >= FIRST], [1])
    ]


async def linked(s: Stores, a: Access) -> object:
    return [await s.chunks.links(IDS, max_df=99, fanout=n, access=a) for n in (1, 99)]


async def mentioned(s: Stores, a: Access) -> object:
    return [await s.graph.mentions_of(IDS, fanout=n, access=a) for n in (1, 99)]


async def nearest(s: Stores, a: Access) -> object:
    names = [str(n) for n in range(len(VECTORS))]
    return await s.entities.find_nearest(
        names, np.stack(VECTORS), limit=99, min_cosine=-1.0, access=a
    )


async def hashed(s: Stores, a: Access) -> object:
    """Whoever may write to a namespace is told what lies there: only the others are asked."""
    others = tuple(name for name in a.namespaces if name != "shared")
    access = Access(others, a.principals)
    return await s.documents.hashes(["vex/private", "vex/tenant"], access=access)


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
    "entities.find_similar": lambda s, a: s.entities.find_similar(NAMES, access=a),
    "entities.find_text": lambda s, a: s.entities.find_text(NAMES, limit=99, access=a),
    "entities.find_nearest": nearest,
    "entities.similarity": lambda s, a: s.entities.similarity(IDS, embedding=VECTORS[3], access=a),
    "entities.mentions_in": lambda s, a: s.entities.mentions_in(IDS, access=a),
    "entities.stats": lambda s, a: s.entities.stats(access=a),
    "graph.expand": walked,
    "graph.mentions_of": mentioned,
    "graph.relationships_among": lambda s, a: s.graph.relationships_among(IDS, limit=99, access=a),
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
        "documents": PostgresDocumentStore,
    }
    public = {
        f"{name}.{method}"
        for name, store in stores.items()
        for method in vars(store)
        if not method.startswith("_")
    }
    assert public == {*CALLS, "documents.write", "documents.delete"}


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


async def test_the_attacker_still_sees_his_own(crowded: Stores) -> None:
    passages = await crowded.chunks.fetch(IDS, access=ATTACKERS["the attacker"])
    assert {one["document_id"] for one in passages} == {"open", "attackers", "mine"}
    passages = await crowded.chunks.fetch(IDS, access=ATTACKERS["nobody"])
    assert {one["document_id"] for one in passages} == {"open", "mine"}


async def test_a_public_relation_shows_only_the_evidence_that_may_be_read(crowded: Stores) -> None:
    access = Access(("shared",))
    (known,) = await crowded.graph.relationships_among(IDS, limit=9, access=access)
    readable = [one["id"] for one in await crowded.chunks.fetch(IDS, access=access)]
    assert (known["type"], known["count"]) == ("KNOWS", 4)
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
