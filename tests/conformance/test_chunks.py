"""Both searches against arithmetic in plain Python, and what hangs on chunks."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import NamedTuple

import pytest

from clew.stores.access import Access
from clew.stores.protocols import Vector
from clew.stores.records import ChunkScores, DocumentDraft, Filters, Hit
from clew.tests.stores.postgres import drafts
from clew.tests.stores.postgres.drafts import (
    EVERYTHING,
    WORDS,
    chunk,
    cosine,
    document,
    reader,
    unit,
)

from .backends import Backend

FILTERS: list[Filters] = [
    {},
    {"category": ["tale"]},
    {"category": ["tale", "law"], "date_from": "1900-01-01"},
    {"date_to": "1900-01-01"},
    {"date_from": "1900-01-01", "date_to": "1950-06-30"},
    {"metadata": {"tags": ["old"]}},
    {"metadata": {"page": 2}, "category": ["law"]},
    {"category": ["none"]},
    {"exclude": ["one 3", "two 0", "none"]},
    {"exclude": ["one 0", "one 1"], "category": ["tale"]},
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


async def rows_of(backend: Backend) -> list[Row]:
    """Write two namespaces of random documents, and say how they lie in the store."""
    books = drafts.library(7)
    for namespace, documents in books.items():
        await backend.write(*documents, namespace=namespace)
    known = await backend.known("one", "two")
    ids = {(p["document_id"], p["chunk_index"]): id_ for id_, p in known.passages.items()}
    return [
        Row(
            ids[book["key"], one["index"]],
            namespace,
            book,
            f"{one['header']} {one['text']}".split(),
            drafts.stored(unit(f"{book['key']} {one['index']}")),
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
        and book["key"] not in filters.get("exclude", [])
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


async def test_text_search_is_bm25_under_every_filter_and_access(backend: Backend) -> None:
    rows, rng = await rows_of(backend), random.Random(1)
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
                hits = await backend.chunks.search_text(
                    question, limit=limit, filters=filters, access=access
                )
                drafts.same(hits, expected, limit, 1e-6)


async def test_vector_search_is_cosine_under_every_filter_and_access(backend: Backend) -> None:
    rows = await rows_of(backend)
    for number, filters in enumerate(FILTERS):
        for access in ACCESSES:
            asked = unit(number)
            expected = {
                row.id: cosine(drafts.stored(asked), row.vector)
                for row in rows
                if matches(row, filters, access)
            }
            for limit in (3, 1000):
                hits = await backend.chunks.search_vector(
                    asked, limit=limit, filters=filters, access=access
                )
                drafts.same(hits, expected, limit, 1e-5)


async def test_score_says_of_given_chunks_what_both_searches_say(backend: Backend) -> None:
    rows = await rows_of(backend)
    access, question, asked = Access(("one", "two"), ("ada",)), "gold wolf lamp", unit(3)
    for filters in FILTERS:
        dense = await backend.chunks.search_vector(asked, limit=999, filters=filters, access=access)
        text = await backend.chunks.search_text(question, limit=999, filters=filters, access=access)
        words = {hit["id"]: hit["score"] for hit in text}
        scores = await backend.chunks.score(
            [row.id for row in reversed(rows)] + [10**9],
            embedding=asked,
            question=question,
            filters=filters,
            access=access,
        )
        assert [one["id"] for one in scores] == sorted(hit["id"] for hit in dense)
        assert {one["id"]: one["dense"] for one in scores} == pytest.approx(
            {hit["id"]: hit["score"] for hit in dense}, abs=1e-6
        )
        assert {one["id"]: one["bm25"] for one in scores} == pytest.approx(
            {one["id"]: words.get(one["id"], 0.0) for one in scores}, abs=1e-9
        )


async def test_without_a_vector_every_cosine_is_zero_and_bm25_is_the_same(
    backend: Backend,
) -> None:
    rows = await rows_of(backend)
    ids, access = [row.id for row in rows], Access(("one", "two"), ("ada",))

    async def scores(embedding: Vector | None) -> list[ChunkScores]:
        return await backend.chunks.score(
            ids, embedding=embedding, question="gold wolf", filters=EVERYTHING, access=access
        )

    without, known = await scores(None), await scores(unit(3))
    assert without
    assert without == [{**one, "dense": 0.0} for one in known]


async def test_one_namespace_does_not_change_the_scores_of_another(backend: Backend) -> None:
    books = drafts.library(7)
    await backend.write(*books["one"], namespace="one")

    async def found() -> list[Hit]:
        return await backend.chunks.search_text(
            "gold wolf", limit=99, filters=EVERYTHING, access=reader(namespace="one")
        )

    before = await found()
    assert before
    await backend.write(*books["two"], *books["one"], namespace="two")
    assert await found() == before


async def test_what_is_as_good_comes_in_the_order_of_ids(backend: Backend) -> None:
    await backend.write(
        *(document(f"{n}", *(chunk("gold", embedding=unit(1)) for _ in range(4))) for n in range(5))
    )
    ids = [*(await backend.known()).passages]
    for limit in (1, 7, 20, 99):
        text = await backend.chunks.search_text(
            "gold", limit=limit, filters=EVERYTHING, access=reader()
        )
        near = await backend.chunks.search_vector(
            unit(2), limit=limit, filters=EVERYTHING, access=reader()
        )
        assert [hit["id"] for hit in text] == [hit["id"] for hit in near] == ids[:limit]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, "abcd"),
        ({"tags": ["x"]}, "ab"),
        ({"tags": ["y", "x"]}, "a"),
        ({"tags": []}, "abc"),
        ({"tags": "x"}, ""),
        ({"who": {"name": "Ada"}}, "ab"),
        ({"who": {}}, "abc"),
        ({"who": {"name": "Ada", "age": 3}}, "b"),
        ({"page": 1}, "a"),
        ({"page": True}, "b"),
        ({"page": None}, "c"),
        ({"tags": [{"k": 1}]}, "c"),
        ({"page": 1, "tags": ["z"]}, ""),
    ],
)
async def test_metadata_must_hold_all_that_is_asked_for(
    backend: Backend, wanted: dict[str, object], found: str
) -> None:
    await backend.write(
        document("a", "a", metadata={"tags": ["x", "y"], "who": {"name": "Ada"}, "page": 1}),
        document(
            "b", "b", metadata={"tags": ["x"], "who": {"name": "Ada", "age": 3}, "page": True}
        ),
        document("c", "c", metadata={"tags": [{"k": 1, "l": 2}], "who": {}, "page": None}),
        document("d", "d"),
    )
    known = await backend.known()
    hits = await backend.chunks.search_vector(
        unit(1), limit=9, filters={"metadata": wanted}, access=reader()
    )
    assert sorted(known.text(hit["id"]) for hit in hits) == [*found]
