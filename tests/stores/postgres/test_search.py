"""Both searches against arithmetic in plain Python, and what hangs on chunks."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
from psycopg.conninfo import make_conninfo

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.postgres import chunks, queries, search_queries
from clew.stores.postgres.queries import halfvec
from clew.stores.protocols import Vector
from clew.stores.records import DocumentDraft, Filters, Hit

from . import drafts
from .conftest import Stores
from .drafts import EVERYTHING, WORDS, chunk, cosine, document, mention, reader, stored, unit

FILTERS: list[Filters] = [
    {},
    {"category": ["tale"]},
    {"category": ["tale", "law"], "date_from": "1900-01-01"},
    {"date_to": "1900-01-01"},
    {"date_from": "1900-01-01", "date_to": "1950-06-30"},
    {"metadata": {"tags": ["old"]}},
    {"metadata": {"page": 2}, "category": ["law"]},
    {"category": ["none"]},
]
ACCESSES = [
    reader(namespace="one"),
    reader("ada", namespace="one"),
    Access(("one", "two"), ("ada", "bob")),
    Access(("two", "three"), ("bob",)),
    Access(("three",)),
    Access((), ("ada", "bob")),
]


class Row(NamedTuple):
    id: int
    namespace: str
    document: DocumentDraft
    words: list[str]
    vector: Vector


@pytest.fixture
async def rows(stores: Stores) -> AsyncIterator[list[Row]]:
    """Two namespaces of random documents, as they lie in the database."""
    books = drafts.library(7)
    for namespace, documents in books.items():
        await stores.write(*documents, namespace=namespace)
    places = "select key, chunk_index, c.id from chunks c join documents d on d.id = document_id"
    ids = {(key, index): id_ for key, index, id_ in await stores.rows(places)}
    yield [
        Row(
            ids[book["key"], one["index"]],
            namespace,
            book,
            f"{one['header']} {one['text']}".split(),
            stored(unit(f"{book['key']} {one['index']}")),
        )
        for namespace, documents in books.items()
        for book in documents
        for one in book["chunks"]
    ]


def matches(row: Row, filters: Filters, access: Access) -> bool:
    book = row.document
    day, wanted = book["date"] or "", filters.get("metadata", {})
    return (
        row.namespace in access.namespaces
        and bool({*book["acl"]} & {*access.principals})
        and book["category"] in filters.get("category", [book["category"]])
        and ("date_from" not in filters or day >= filters["date_from"])
        and ("date_to" not in filters or "" < day <= filters["date_to"])
        and all(
            {*wanted[key]} <= {*book["metadata"].get(key, ())}
            if isinstance(wanted[key], list)
            else book["metadata"].get(key) == wanted[key]
            for key in wanted
        )
    )


def bm25(question: str, rows: list[Row]) -> dict[int, float]:
    """The formula that `ChunkStore` documents, over everything in each row's namespace."""
    scores = dict[int, float]()
    for namespace in {row.namespace for row in rows}:
        inside = [row for row in rows if row.namespace == namespace]
        average = sum(len(row.words) for row in inside) / len(inside)
        for row in inside:
            for word in {*question.split()}:
                df = sum(word in other.words for other in inside)
                idf = math.log(1 + (len(inside) - df + 0.5) / (df + 0.5))
                tf = Counter(row.words)[word]
                length = 0.25 + 0.75 * len(row.words) / average
                part = idf * tf * 2.2 / (tf + 1.2 * length)
                scores[row.id] = scores.get(row.id, 0.0) + part
    return scores


async def test_bm25_is_the_documented_formula_under_every_filter_and_access(
    stores: Stores, rows: list[Row]
) -> None:
    assert await stores.rows(
        "select to_tsvector('english', %(w)s)::text = to_tsvector('simple', %(w)s)::text",
        {"w": " ".join(WORDS)},
    ) == [(True,)]
    rng = random.Random(1)
    for filters in FILTERS:
        for access in ACCESSES:
            question = " ".join([*rng.sample(WORDS, rng.randint(1, 3)), "zzz", "iron", "iron"])
            scores = bm25(question, rows)
            expected = {
                row.id: scores[row.id]
                for row in rows
                if scores[row.id] > 0 and matches(row, filters, access)
            }
            for limit in (3, 1000):
                hits = await stores.chunks.search_text(
                    question, limit=limit, filters=filters, access=access
                )
                drafts.same(hits, expected, limit, 1e-6)


async def test_vector_search_is_cosine_under_every_filter_and_access(
    stores: Stores, rows: list[Row]
) -> None:
    for number, filters in enumerate(FILTERS):
        for access in ACCESSES:
            asked = unit(number)
            expected = {
                row.id: cosine(stored(asked), row.vector)
                for row in rows
                if matches(row, filters, access)
            }
            for limit in (3, 1000):
                hits = await stores.chunks.search_vector(
                    asked, limit=limit, filters=filters, access=access
                )
                drafts.same(hits, expected, limit, 1e-5)


async def test_score_says_of_given_chunks_what_both_searches_say(
    stores: Stores, rows: list[Row]
) -> None:
    access, question, asked = Access(("one", "two"), ("ada",)), "gold wolf lamp", unit(3)
    dense = await stores.chunks.search_vector(asked, limit=999, filters=EVERYTHING, access=access)
    text = await stores.chunks.search_text(question, limit=999, filters=EVERYTHING, access=access)
    words = {hit["id"]: hit["score"] for hit in text}
    scores = await stores.chunks.score(
        [row.id for row in reversed(rows)] + [10**9],
        embedding=asked,
        question=question,
        filters=EVERYTHING,
        access=access,
    )
    assert [one["id"] for one in scores] == sorted(hit["id"] for hit in dense)
    assert {one["id"]: one["dense"] for one in scores} == pytest.approx(
        {hit["id"]: hit["score"] for hit in dense}, abs=1e-6
    )
    assert {one["id"]: one["bm25"] for one in scores} == pytest.approx(
        {one["id"]: words.get(one["id"], 0.0) for one in scores}, abs=1e-9
    )
    assert 0 < len(words) < len(scores)


async def test_one_namespace_does_not_change_the_scores_of_another(stores: Stores) -> None:
    books = drafts.library(7)
    await stores.write(*books["one"], namespace="one")

    async def found() -> list[Hit]:
        return await stores.chunks.search_text(
            "gold wolf", limit=99, filters=EVERYTHING, access=reader(namespace="one")
        )

    before = await found()
    assert before
    await stores.write(*books["two"], *books["one"], namespace="two")
    assert await found() == before


@pytest.mark.parametrize("indexed", [True, False])
async def test_a_scan_of_the_index_does_not_lose_the_few_that_may_be_read(
    stores: Stores, dsn: str, monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    monkeypatch.setattr(chunks, "EXACT_BELOW", 0 if indexed else 1000)
    asked = unit("asked")
    near = [chunk(f"near {n}", embedding=asked + unit(n) / 8) for n in range(297)]
    far = [chunk(f"far {n}", embedding=unit(n) - asked) for n in range(3)]
    await stores.write(document("crowd", *near, acl=["bob"]), document("few", *far, acl=["ada"]))
    options = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off"
    scanning = Stores.on(make_conninfo(dsn, options=options), ef_search=10)
    params = {
        "embedding": halfvec(asked),
        "limit": 5,
        "most": 1000,
        **queries.filter_params(EVERYTHING),
        **queries.access_params(reader("ada")),
    }
    query = search_queries.SEARCH_VECTOR if indexed else search_queries.SEARCH_VECTOR_EXACT
    plan = str(await scanning.rows(f"explain {query}", params))
    assert ("Index Scan using chunks_embedding" in plan) is indexed
    hits = await scanning.chunks.search_vector(
        asked, limit=5, filters=EVERYTHING, access=reader("ada")
    )
    await scanning.database.close()
    ids = await stores.ids()
    assert {hit["id"] for hit in hits} == {ids[f"far {n}"] for n in range(3)}


async def test_passages_come_in_the_order_asked_without_what_may_not_be_read(
    stores: Stores, rows: list[Row]
) -> None:
    access = Access(("one",), ("ada",))
    asked = [row.id for row in rows] + [10**9, -1]
    random.Random(2).shuffle(asked)
    readable = {row.id for row in rows if matches(row, EVERYTHING, access)}
    passages = await stores.chunks.fetch(asked, access=access)
    assert [one["id"] for one in passages] == [id_ for id_ in asked if id_ in readable]
    assert await stores.chunks.fetch(asked, access=Access(("none",), ("ada",))) == []


async def test_what_cannot_be_searched_for_is_the_callers_mistake(stores: Stores) -> None:
    await stores.write(document("one", "gold"))
    for question in ("gold\0", "gold\ud800", " ".join(map(str, range(200_000)))):
        with pytest.raises(InvalidInput):
            await stores.chunks.search_text(question, limit=1, filters=EVERYTHING, access=reader())
    bad: list[Filters] = [{"date_from": "soon"}, {"category": ["\0"]}]
    for filters in bad:
        with pytest.raises(InvalidInput):
            await stores.chunks.search_vector(unit(1), limit=1, filters=filters, access=reader())
    with pytest.raises(InvalidInput, match="dimension"):
        await stores.chunks.score(
            [1], embedding=unit(1)[:5], question="", filters={}, access=reader()
        )


async def test_neighbours_stay_in_their_section_and_with_who_may_read(stores: Stores) -> None:
    headers = ["One", "One", "One", "One", "Two", "Two"]
    open_, closed = (
        document(key, *(chunk(f"{key}{n}", header=h) for n, h in enumerate(headers)), acl=acl)
        for key, acl in (("a", ["public"]), ("b", ["bob"]))
    )
    await stores.write(open_, closed)
    ids = await stores.ids()

    async def around(given: list[str], reach: int) -> list[str]:
        passages = await stores.chunks.neighbours(
            [ids[one] for one in given] + [10**9], reach=reach, access=reader()
        )
        assert passages == await stores.chunks.fetch([p["id"] for p in passages], access=reader())
        return [passage["text"] for passage in passages]

    assert await around(["a2"], 0) == ["a2"]
    assert await around(["a2"], 1) == ["a1", "a2", "a3"]
    assert await around(["a3"], 9) == ["a0", "a1", "a2", "a3"]
    assert await around(["a4", "a0"], 1) == ["a0", "a1", "a4", "a5"]
    assert await around(["a1", "b1"], 1) == ["a0", "a1", "a2"]
    assert await around(["b1"], 9) == []


async def test_links_say_who_is_about_what_and_what_is_shared(stores: Stores) -> None:
    await stores.write(
        document("ada", chunk("ada", [mention("Ada", subject=True), "Bob", "Turin"])),
        document("bob", chunk("bob", [mention("Bob", subject=True)])),
        document("bobs", chunk("bobs", [mention("Bob", subject=True, count=2)])),
        document("trip", chunk("trip", ["Turin", "Rome"]), chunk("stay", ["Rome"])),
        document("secret", chunk("secret", [mention("Bob", subject=True), "Turin"]), acl=["eve"]),
    )
    ids = await stores.ids()
    texts = {id_: text for text, id_ in ids.items()}

    async def linked(*given: str, max_df: int, fanout: int = 9) -> set[tuple[str, str, str, str]]:
        links = await stores.chunks.links(
            [ids[one] for one in given] + [10**9], max_df=max_df, fanout=fanout, access=reader()
        )
        assert links == sorted(links, key=lambda k: (k["source"], k["target"], k["entity"]))
        return {(texts[k["source"]], k["kind"], texts[k["target"]], k["name"]) for k in links}

    to_bobs = {("ada", "titled", "bob", "Bob"), ("ada", "titled", "bobs", "Bob")}
    assert await linked("ada", max_df=0) == to_bobs
    # Two chunks that may be read mention Turin, but its df counts the secret one too.
    assert await linked("ada", max_df=2) == to_bobs
    assert await linked("ada", max_df=3) == to_bobs | {("ada", "shared", "trip", "Turin")}
    assert await linked("ada", max_df=0, fanout=1) == {("ada", "titled", "bobs", "Bob")}
    assert await linked("bob", "stay", max_df=2) == {
        ("bob", "titles", "ada", "Bob"),
        ("bob", "titled", "bobs", "Bob"),
        ("stay", "shared", "trip", "Rome"),
    }
    assert await linked("secret", max_df=9) == set()
