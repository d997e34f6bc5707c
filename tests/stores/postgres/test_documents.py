"""Writing documents: each lands whole, and leaves as if it had never been there."""

from __future__ import annotations

import asyncio
import hashlib
import random

import pytest

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.records import DocumentDraft

from .conftest import Stores, consistent
from .drafts import chunk, document, history, reader, relation, story

ACCESS = reader()


async def test_a_written_document_can_be_read_back_whole(stores: Stores) -> None:
    draft = story()
    report = await stores.documents.write([draft], access=ACCESS)
    assert report == {"written": ["story"], "replaced": [], "failed": {}}
    chunks, entities = await stores.ids(), await stores.entity_ids()
    passages = await stores.chunks.fetch(list(chunks.values()), access=ACCESS)
    (number,) = {passage["document"] for passage in passages}
    assert passages == [
        {
            "id": chunks[one["text"]],
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
        for one in draft["chunks"]
    ]
    found = await stores.entities.mentions_in(list(chunks.values()), access=ACCESS)
    assert [
        (one["chunk"], one["name"], one["count"], one["subject"], one["df"]) for one in found
    ] == [
        (passages[0]["id"], "Ada", 2, True, 1),
        (passages[0]["id"], "Bob", 1, False, 2),
        (passages[1]["id"], "Bob", 1, False, 2),
        (passages[1]["id"], "Turin", 1, False, 1),
    ]
    related = await stores.graph.relationships_among(
        list(entities.values()), limit=9, access=ACCESS
    )
    assert [(one["source"], one["type"], one["target"], one["evidence"]) for one in related] == [
        (entities["Bob"], "LEFT", entities["Turin"], [one["id"] for one in passages]),
        (entities["Ada"], "MET", entities["Bob"], [passages[0]["id"]]),
    ]
    assert [one["weight"] for one in related] == pytest.approx([0.8 * 2 / 3, 0.9 / 2])
    assert await stores.documents.hashes(["story", "none"], access=ACCESS) == {
        "story": draft["content_hash"]
    }
    assert await stores.entities.stats(access=ACCESS) == [
        {
            "namespace": "main",
            "version": 1,
            "documents": 1,
            "chunks": 2,
            "entities": 3,
            "relationships": 2,
        }
    ]


async def test_writing_twice_changes_nothing(stores: Stores) -> None:
    await stores.write(document("other", chunk("Bob in Turin.", ["Bob", "Turin"])), story())
    before = await stores.snapshot()
    report = await stores.documents.write([story(), story()], access=ACCESS)
    assert report == {"written": [], "replaced": ["story", "story"], "failed": {}}
    assert await stores.snapshot() == before


async def test_what_only_a_deleted_document_bore_out_goes_with_it(stores: Stores) -> None:
    await stores.write(story(), story("twin"), story("elsewhere"), namespace="main")
    await stores.write(story(), namespace="other")
    other = await stores.snapshot("other")
    assert await stores.documents.delete(["story", "none", "twin", "story"], access=ACCESS) == 2
    assert [row[0] for row in (await stores.snapshot())["documents"]] == ["elsewhere"]
    assert await stores.documents.delete(["elsewhere"], access=ACCESS) == 1
    left = await stores.snapshot()
    assert left.pop("namespace") == [(0, 0, 0, 0, 0)]
    assert not any(left.values()), left
    assert await stores.snapshot("other") == other


async def test_deleting_from_a_namespace_that_is_not_there_deletes_nothing(stores: Stores) -> None:
    assert await stores.documents.delete(["story"], access=ACCESS) == 0


@pytest.mark.parametrize(
    ("namespaces", "sentence"),
    [((), "may not use that namespace"), (("one", "two"), "exactly one namespace, not 2")],
)
async def test_writing_needs_exactly_one_namespace(
    stores: Stores, namespaces: tuple[str, ...], sentence: str
) -> None:
    access = Access(namespaces)
    with pytest.raises(InvalidInput, match=sentence):
        await stores.documents.write([story()], access=access)
    with pytest.raises(InvalidInput, match=sentence):
        await stores.documents.delete(["story"], access=access)


async def test_what_no_chunk_mentions_is_not_kept(stores: Stores) -> None:
    draft = story()
    unmentioned = document("x", chunk("Zoe", ["Zoe"]), aliases={"Zoe": ["Zed"]})["entities"]
    draft["entities"] += unmentioned
    draft["relationships"].append(relation("Ada", "MET", "Zoe"))
    await stores.write(story())
    before = await stores.snapshot()
    await stores.write(document("secret", chunk("Zoe", ["Zoe"])), draft)
    await stores.documents.delete(["secret"], access=ACCESS)
    assert await stores.snapshot() == before


async def test_a_word_beyond_all_names_is_not_prepared_for_typos(stores: Stores) -> None:
    await stores.write(document("one", chunk("x", ["k" * 64, "x" * 65, "Ada"])))
    assert [row[0] for row in (await stores.snapshot())["name_words"]] == ["ada", "k" * 64]


@pytest.mark.parametrize("batch", range(3))
async def test_any_history_leaves_what_a_fresh_ingestion_of_the_rest_would(
    stores: Stores, batch: int
) -> None:
    for seed in range(batch * 12, batch * 12 + 12):
        rng, lived, fresh = random.Random(seed), f"lived-{seed}", f"fresh-{seed}"
        rest: dict[str, DocumentDraft] = {}
        await stores.write(document("a", "iron"), namespace=lived)
        await stores.write(document("a", "iron"), namespace=fresh)
        await stores.documents.delete(["a"], access=reader(namespace=lived))
        await stores.documents.delete(["a"], access=reader(namespace=fresh))
        for _ in range(10):
            draft, chance = history(rng), rng.random()
            if chance < 0.3:
                await stores.documents.delete([draft["key"]], access=reader(namespace=lived))
                rest.pop(draft["key"], None)
            elif chance < 0.4:
                bad: DocumentDraft = {**draft, "acl": []}
                report = await stores.documents.write([bad], access=reader(namespace=lived))
                assert list(report["failed"]) == [draft["key"]]
            else:
                await stores.write(draft, namespace=lived)
                rest[draft["key"]] = draft
        await stores.write(*rest.values(), namespace=fresh)
        after, expected = await stores.snapshot(lived), await stores.snapshot(fresh)
        assert after == expected, f"seed {seed}"
        consistent(after)


async def test_writers_of_one_namespace_neither_deadlock_nor_lose_counts(
    stores: Stores, dsn: str
) -> None:
    rngs, words = [random.Random(100 + n) for n in range(4)], [f"w{n}" for n in range(60)]
    drafts: list[list[DocumentDraft]] = [
        [{**history(rng, words), "key": f"{n}-{i}"} for i in range(12)]
        for n, rng in enumerate(rngs)
    ]
    second = Stores.on(dsn)
    async with asyncio.timeout(60):
        await asyncio.gather(
            *(
                (stores, second)[n % 2].write(*batch, *reversed(batch), namespace="busy")
                for n, batch in enumerate(drafts)
            ),
            *(
                second.documents.delete([f"{n}-0", f"{n}-1"], access=reader(namespace="busy"))
                for n in range(4)
            ),
        )
        await second.documents.delete([f"{n}-0" for n in range(4)], access=reader(namespace="busy"))
    await second.database.close()
    await stores.write(
        *(draft for batch in drafts for draft in batch if not draft["key"].endswith("-0")),
        namespace="calm",
    )
    # Nothing was saved by another attempt, either.
    stopped = "select deadlocks from pg_stat_database where datname = current_database()"
    assert await stores.rows(stopped) == [(0,)]
    busy, calm = await stores.snapshot("busy"), await stores.snapshot("calm")
    assert busy == calm
    consistent(busy)
