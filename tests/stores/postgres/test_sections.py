"""Two-tier search by every way the database may go, held against a plain computation."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import product

import pytest
from psycopg.conninfo import make_conninfo

from clew.models.embeddings import pack
from clew.stores.access import Access
from clew.stores.postgres import section_queries, sections
from clew.stores.postgres.queries import access_params, filter_params, halfvec
from clew.stores.records import DocumentDraft, Filters, SectionDraft

from .conftest import Stores
from .drafts import (
    EVERYTHING,
    chunk,
    cosine,
    document,
    library,
    reader,
    same,
    stored,
    unit,
)

ASKED = unit("asked")
ACCESSES = [
    reader(namespace="one"),
    Access(("one",), ("ada",)),
    Access(("one", "two"), ("bob",)),
    Access((), ("ada",)),
]
FILTERS: list[Filters] = [
    EVERYTHING,
    {"category": ["tale"]},
    {"date_from": "1900-01-01", "date_to": "1950-06-30"},
    {"metadata": {"tags": ["rare"]}},
    {"category": ["none such"]},
]
WAYS = (10**6, 0)
"""How many are compared one by one: all, and none, so that the index is asked."""


def sectioned(draft: DocumentDraft, size: int = 2) -> DocumentDraft:
    """The document with sections whose vectors are those of its key and their index."""
    found = [
        SectionDraft(
            index=at // size,
            span_start=at,
            span_end=min(at + size, len(draft["chunks"])) - 1,
            text=f"{draft['key']} {at}",
            embedding=pack(unit(f"{draft['key']} section {at // size}")),
        )
        for at in range(0, len(draft["chunks"]), size)
    ]
    return {**draft, "sections": found}


def few_are(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(sections, "EXACT_BELOW", most)


@pytest.fixture
async def books(stores: Stores) -> dict[str, DocumentDraft]:
    """Two namespaces, in which every other document has sections; by namespace and key."""
    rng = random.Random(3)
    written = {
        space: [sectioned(one) if rng.random() < 0.5 else one for one in drafts]
        for space, drafts in library(3).items()
    }
    for space, drafts in written.items():
        await stores.write(*drafts, namespace=space)
    async with stores.database.connection() as connection:
        await connection.execute("analyze")
    return {draft["key"]: draft for drafts in written.values() for draft in drafts}


def meant(draft: DocumentDraft, filters: Filters, access: Access) -> bool:
    space, date = draft["key"].split()[0], draft["date"] or ""
    tags = filters.get("metadata", {}).get("tags", [])
    return (
        space in access.namespaces
        and bool({*draft["acl"]} & {*access.principals})
        and ("category" not in filters or draft["category"] in filters["category"])
        and ("date_from" not in filters or (bool(date) and date >= filters["date_from"]))
        and ("date_to" not in filters or (bool(date) and date <= filters["date_to"]))
        and {*tags} <= {*draft["metadata"].get("tags", [])}
    )


def near(text: str) -> float:
    return cosine(stored(ASKED), stored(unit(text)))


async def test_sections_and_their_chunks_are_those_of_a_plain_computation(
    stores: Stores, books: Mapping[str, DocumentDraft], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = await stores.rows(
        "select s.id, d.key, s.section_index from sections s join documents d"
        " on d.id = s.document_id"
    )
    chunks = await stores.rows(
        "select c.id, d.key, c.chunk_index from chunks c join documents d on d.id = c.document_id"
    )
    numbers = dict(await stores.rows("select key, id from documents"))
    to_chunks = {(key, n): near(f"{key} {n}") for _, key, n in chunks}
    for most, filters, access in product(WAYS, FILTERS, ACCESSES):
        few_are(monkeypatch, most)
        nearness = {
            id_: near(f"{key} section {index}")
            for id_, key, index in places
            if meant(books[key], filters, access)
        }
        found = await stores.sections.search_sections(
            ASKED, limit=4, filters=filters, access=access
        )
        same([{"id": s["id"], "score": s["score"]} for s in found], nearness, 4, 1e-3)
        spans = {
            (s["document"], place)
            for s in found
            for place in range(s["span_start"], s["span_end"] + 1)
        }
        expected = {
            id_: to_chunks[key, index]
            for id_, key, index in chunks
            if meant(books[key], filters, access)
            and ("sections" not in books[key] or (numbers[key], index) in spans)
        }
        # Whatever is asked for beside them, a section that may not be read opens nothing.
        asked = [s["id"] for s in found]
        closed = [id_ for id_, key, _ in places if not meant(books[key], filters, access)]
        for limit in (5, 500):
            hits = await stores.sections.search_spans(
                [*asked, *closed, *asked], ASKED, limit=limit, filters=filters, access=access
            )
            same(hits, expected, limit, 1e-3)


async def test_chunks_of_documents_without_sections_are_not_looked_for_when_there_are_none(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    fetch = stores.database.fetch

    async def watched(query: str, params: Mapping[str, object]) -> list[dict[str, object]]:
        asked.append(query)
        return await fetch(query, params)

    monkeypatch.setattr(stores.database, "fetch", watched)
    await stores.write(sectioned(document("a", "a0", "a1", "a2")))
    await stores.write(document("b", "b0", acl=["bob"]), document("c", "c0", category="tale"))
    (id_, *_) = (await stores.ids("sections")).values()

    async def queries(access: Access, filters: Filters = EVERYTHING) -> list[str]:
        asked.clear()
        await stores.sections.search_spans([id_], ASKED, limit=9, filters=filters, access=access)
        return asked[1:]

    assert await queries(reader()) == [section_queries.SEARCH_SPANS_EXACT]
    assert await queries(reader(), {"category": ["law"]}) == [section_queries.SEARCH_SPANS_ALONE]
    assert await stores.documents.delete(["c"], access=reader()) == 1
    assert await queries(reader()) == [section_queries.SEARCH_SPANS_ALONE]
    assert await queries(reader("bob")) == [section_queries.SEARCH_SPANS_EXACT]
    few_are(monkeypatch, 0)
    assert await queries(reader("bob")) == [section_queries.SEARCH_SPANS]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (section_queries.SEARCH_SECTIONS, "sections_embedding"),
        (section_queries.SEARCH_SPANS, "chunks_embedding"),
    ],
)
async def test_many_are_searched_by_the_vectors_index_which_loses_none_of_the_few_readable(
    stores: Stores, dsn: str, monkeypatch: pytest.MonkeyPatch, query: str, index: str
) -> None:
    few_are(monkeypatch, 0)
    crowd = [chunk(f"near {n}", embedding=ASKED + unit(n) / 8) for n in range(150)]
    far = [chunk(f"far {n}", embedding=unit(n) - ASKED) for n in range(3)]
    await stores.write(
        sectioned(document("crowd", *crowd), 1),
        document("hidden", *crowd, acl=["bob"]),
        document("few", *far, acl=["ada"]),
        sectioned(document("own", "own0", "own1", acl=["ada"])),
    )
    options = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off"
    scanning = Stores.on(make_conninfo(dsn, options=options), ef_search=10)
    params = {
        "sections": [],
        "embedding": halfvec(ASKED),
        "limit": 5,
        **filter_params(EVERYTHING),
        **access_params(reader("ada")),
    }
    plan = str(await scanning.rows(f"explain {query}", params))
    assert f"Index Scan using {index}" in plan
    access = Access(("main",), ("ada",))
    ids = await stores.ids()
    hits = await scanning.sections.search_spans(
        [], ASKED, limit=3, filters=EVERYTHING, access=access
    )
    assert {hit["id"] for hit in hits} == {ids[f"far {n}"] for n in range(3)}
    found = await scanning.sections.search_sections(
        ASKED, limit=999, filters=EVERYTHING, access=access
    )
    assert len(found) == 151
    await scanning.database.close()


async def test_documents_without_sections_are_counted_whoever_may_read_them(
    stores: Stores,
) -> None:
    await stores.write(sectioned(document("a", "a0")), document("b", "b0"))
    await stores.write(document("c", "c0", acl=["eve"]))
    await stores.write(document("d", "d0"), namespace="other")
    assert await stores.sections.unsectioned(access=reader()) == 2
    assert await stores.sections.unsectioned(access=reader(namespace="other")) == 1
    assert await stores.sections.unsectioned(access=Access((), ("eve",))) == 0


async def test_a_document_written_again_without_sections_has_none(stores: Stores) -> None:
    plain = document("a", "a0", "a1")
    await stores.write(plain)
    before = await stores.snapshot()
    await stores.write(sectioned(plain))
    assert len((await stores.snapshot())["sections"]) == 1
    await stores.write(plain)
    assert await stores.snapshot() == before
    assert await stores.sections.unsectioned(access=reader()) == 1
