"""Chunks as they are read and cited, and what hangs on them."""

from __future__ import annotations

import hashlib
import random

from clew.stores.access import Access
from clew.tests.stores.postgres.drafts import (
    EVERYTHING,
    chunk,
    document,
    mention,
    reader,
    story,
)

from .backends import Backend
from .test_chunks import matches, rows_of


async def test_a_passage_carries_what_is_needed_to_cite_it(backend: Backend) -> None:
    draft = story()
    await backend.write(draft)
    known = await backend.known()
    ids = [known.chunk(one["text"]) for one in draft["chunks"]]
    passages = await backend.chunks.fetch(ids, access=reader())
    (number,) = {passage["document"] for passage in passages}
    assert passages == [
        {
            "id": id_,
            "namespace": "main",
            "document": number,
            "document_id": "story",
            "title": "A story",
            "source": "/story",
            "category": "tale",
            "date": "1843-07-10",
            "metadata": {"pages": 2},
            "chunk_index": one["index"],
            "total_chunks": 2,
            "char_start": one["start"],
            "header": one["header"],
            "text": one["text"],
            "text_hash": hashlib.sha256(one["text"].encode()).hexdigest(),
        }
        for id_, one in zip(ids, draft["chunks"], strict=True)
    ]


async def test_a_documents_passages_come_by_namespace_and_place(backend: Backend) -> None:
    texts = ["third", "first", "second"]
    for namespace in ("two", "one"):
        await backend.write(document("same", *texts, acl=[namespace]), namespace=namespace)
    await backend.write(document("other", "elsewhere"), namespace="one")

    async def told(key: str, access: Access) -> list[tuple[str, str]]:
        passages = await backend.chunks.of_document(key, access=access)
        return [(one["namespace"], one["text"]) for one in passages]

    ones = [("one", text) for text in texts]
    both = Access(("two", "one"), ("one", "two"))
    assert await told("same", both) == [*ones, *(("two", text) for text in texts)]
    assert await told("same", Access(("two", "one"), ("one",))) == ones
    assert await told("same", Access(("two",), ("one",))) == []
    assert await told("none", both) == []


async def test_passages_come_in_the_order_asked_without_what_may_not_be_read(
    backend: Backend,
) -> None:
    rows, access = await rows_of(backend), Access(("one",), ("ada",))
    asked = [row.id for row in rows] + [10**9, -1]
    random.Random(2).shuffle(asked)
    readable = {row.id for row in rows if matches(row, EVERYTHING, access)}
    passages = await backend.chunks.fetch(asked, access=access)
    assert [one["id"] for one in passages] == [id_ for id_ in asked if id_ in readable]
    assert await backend.chunks.fetch(asked, access=Access(("none",), ("ada",))) == []


async def test_neighbours_stay_in_their_section_and_with_who_may_read(backend: Backend) -> None:
    headers = ["One", "One", "One", "One", "Two", "Two"]
    open_, closed = (
        document(key, *(chunk(f"{key}{n}", header=h) for n, h in enumerate(headers)), acl=acl)
        for key, acl in (("a", ["public"]), ("b", ["bob"]))
    )
    await backend.write(open_, closed)
    known = await backend.known()

    async def around(given: list[str], reach: int) -> list[str]:
        passages = await backend.chunks.neighbours(
            [known.chunk(one) for one in given] + [10**9], reach=reach, access=reader()
        )
        assert passages == await backend.chunks.fetch([p["id"] for p in passages], access=reader())
        return sorted(passage["text"] for passage in passages)

    assert await around(["a2"], 0) == ["a2"]
    assert await around(["a2"], 1) == ["a1", "a2", "a3"]
    assert await around(["a3"], 9) == ["a0", "a1", "a2", "a3"]
    assert await around(["a4", "a0"], 1) == ["a0", "a1", "a4", "a5"]
    assert await around(["a1", "b1"], 1) == ["a0", "a1", "a2"]
    assert await around(["b1"], 9) == []


async def test_links_say_who_is_about_what_and_what_is_shared(backend: Backend) -> None:
    await backend.write(
        document("ada", chunk("ada", [mention("Ada", subject=True), "Bob", "Turin"])),
        document("bob", chunk("bob", [mention("Bob", subject=True)])),
        document("bobs", chunk("bobs", [mention("Bob", subject=True, count=2)])),
        document("trip", chunk("trip", ["Turin", "Rome"]), chunk("stay", ["Rome"])),
        document("secret", chunk("secret", [mention("Bob", subject=True), "Turin"]), acl=["eve"]),
    )
    known = await backend.known()

    async def linked(*given: str, max_df: int, fanout: int = 9) -> set[tuple[str, str, str, str]]:
        links = await backend.chunks.links(
            [known.chunk(one) for one in given] + [10**9],
            max_df=max_df,
            fanout=fanout,
            access=reader(),
        )
        assert links == sorted(links, key=lambda k: (k["source"], k["target"], k["entity"]))
        return {
            (known.text(k["source"]), k["kind"], known.text(k["target"]), k["name"]) for k in links
        }

    to_bobs = {("ada", "titled", "bob", "Bob"), ("ada", "titled", "bobs", "Bob")}
    assert await linked("ada", max_df=0) == to_bobs
    # Two chunks that may be read mention Turin, but its df counts the secret one too.
    assert await linked("ada", max_df=2) == to_bobs
    assert await linked("ada", max_df=3) == to_bobs | {("ada", "shared", "trip", "Turin")}
    assert await linked("ada", max_df=0, fanout=1) == {("ada", "titled", "bobs", "Bob")}
    assert await linked("bob", "stay", max_df=2) == {
        ("bob", "titles", "ada", "Bob"),
        ("stay", "shared", "trip", "Rome"),
    }
    assert await linked("secret", max_df=9) == set()
