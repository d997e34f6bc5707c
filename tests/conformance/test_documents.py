"""Writing documents: each lands whole, and leaves as if it had never been there."""

from __future__ import annotations

import random
from typing import Any

import pytest

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.records import DocumentDraft
from clew.tests.stores.postgres.drafts import (
    WORDS,
    chunk,
    document,
    history,
    mention,
    reader,
    relation,
    story,
    unit,
)

from .backends import EVERYONE, Backend

ACCESS = reader()
Snapshot = dict[str, list[Any]]


async def snapshot(backend: Backend, namespace: str = "main") -> Snapshot:
    """All that the protocols tell of a namespace, by name."""
    access = Access((namespace,), EVERYONE)
    known = await backend.known(namespace)
    places = {id_: (p["document_id"], p["chunk_index"]) for id_, p in known.passages.items()}
    named = {id_: (one["name"], one["type"]) for id_, one in known.entities.items()}
    scores = await backend.chunks.score(
        [*places], embedding=unit(1), question=" ".join(WORDS), filters={}, access=access
    )
    rows = await backend.entities.mentions_in([*places], access=access)
    names = sorted({word for name, _ in named.values() for word in (name.lower(), "countess")})
    matches = await backend.entities.find_exact(names, access=access)
    volatile = {"id", "document", "namespace"}
    found: Snapshot = {
        "passages": [
            tuple(value for key, value in one.items() if key not in volatile)
            for one in known.passages.values()
        ],
        "scores": [
            (*places[one["id"]], round(one["dense"], 6), round(one["bm25"], 6)) for one in scores
        ],
        "mentions": [
            (*places[row["chunk"]], *named[row["id"]], row["count"], row["subject"], row["df"])
            for row in rows
        ],
        "names": [(one["query"], one["via"], one["entity"]["name"]) for one in matches],
        "relations": [
            (
                *named[one["source"]],
                one["type"],
                *named[one["target"]],
                round(one["weight"], 6),
                one["count"],
                sorted(places[id_] for id_ in one["evidence"]),
            )
            for one in known.relationships.values()
        ],
    }
    return {what: sorted(told, key=repr) for what, told in found.items()}


async def size(backend: Backend, namespace: str = "main") -> list[dict[str, object]]:
    """The statistics but for the version, which tells histories apart."""
    return [
        {key: value for key, value in one.items() if key != "version"}
        for one in await backend.entities.stats(access=reader(namespace=namespace))
    ]


async def test_a_report_says_what_was_written_and_what_replaced(backend: Backend) -> None:
    report = await backend.documents.write([story(), story("twin")], access=ACCESS)
    assert report == {"written": ["story", "twin"], "replaced": [], "failed": {}}
    report = await backend.documents.write([story(), story("new"), story("new")], access=ACCESS)
    assert report == {"written": ["new"], "replaced": ["story", "new"], "failed": {}}
    assert await size(backend) == [
        {"namespace": "main", "documents": 3, "chunks": 6, "entities": 3, "relationships": 2}
    ]


async def test_hashes_tell_what_is_stored_to_who_writes_there(backend: Backend) -> None:
    draft = story(acl=("eve",))
    await backend.write(draft)
    assert await backend.documents.hashes(["none", "story"], access=ACCESS) == {
        "story": draft["content_hash"]
    }
    assert await backend.documents.hashes(["story"], access=reader(namespace="no")) == {}
    assert await backend.documents.hashes([], access=ACCESS) == {}
    await backend.delete("story")
    assert await backend.documents.hashes(["story"], access=ACCESS) == {}


async def test_writing_twice_changes_nothing_but_ids(backend: Backend) -> None:
    await backend.write(document("other", chunk("Bob in Turin.", ["Bob", "Turin"])), story())
    before, old = await snapshot(backend), (await backend.known()).passages
    await backend.write(story(), story())
    assert await snapshot(backend) == before
    new = (await backend.known()).passages
    kept = {id_ for id_, one in old.items() if one["document_id"] == "other"}
    # An id never comes to mean another text.
    assert new.keys() & old.keys() == kept
    passages = await backend.chunks.fetch([*old], access=Access(("main",), EVERYONE))
    assert {one["id"] for one in passages} == kept


async def test_what_only_a_deleted_document_bore_out_goes_with_it(backend: Backend) -> None:
    await backend.write(story(), story("twin"), story("elsewhere"))
    await backend.write(story(), namespace="other")
    other = await snapshot(backend, "other")
    assert await backend.delete("story", "none", "twin", "story") == 2
    assert {row[0] for row in (await snapshot(backend))["passages"]} == {"elsewhere"}
    assert await backend.delete("elsewhere") == 1
    assert not any((await snapshot(backend)).values())
    assert await size(backend) == [
        {"namespace": "main", "documents": 0, "chunks": 0, "entities": 0, "relationships": 0}
    ]
    assert await snapshot(backend, "other") == other


async def test_deleting_from_a_namespace_that_is_not_there_deletes_nothing(
    backend: Backend,
) -> None:
    assert await backend.delete("story") == 0
    assert await size(backend) == []


@pytest.mark.parametrize(
    ("namespaces", "sentence"),
    [((), "may not use that namespace"), (("one", "two"), "exactly one namespace, not 2")],
)
async def test_writing_needs_exactly_one_namespace(
    backend: Backend, namespaces: tuple[str, ...], sentence: str
) -> None:
    access = Access(namespaces)
    with pytest.raises(InvalidInput, match=sentence):
        await backend.documents.write([story()], access=access)
    with pytest.raises(InvalidInput, match=sentence):
        await backend.documents.delete(["story"], access=access)


@pytest.mark.parametrize("namespaces", [(), ("one", "two")])
async def test_asking_for_hashes_needs_exactly_one_namespace(
    backend: Backend, namespaces: tuple[str, ...]
) -> None:
    # Two namespaces may hold documents of one key, and the answer has room for one of them.
    with pytest.raises(InvalidInput):
        await backend.documents.hashes(["story"], access=Access(namespaces))


async def test_a_document_needs_no_chunks(backend: Backend) -> None:
    await backend.write(document("empty"))
    assert (await size(backend))[0]["documents"] == 1
    assert await backend.documents.hashes(["empty"], access=ACCESS) == {"empty": "hash of "}
    assert await backend.delete("empty") == 1


async def test_a_draft_is_not_kept_hold_of(backend: Backend) -> None:
    draft = story()
    await backend.write(draft)
    before = await snapshot(backend)
    draft["metadata"]["pages"] = 3
    draft["acl"].append("eve")
    draft["chunks"][0]["text"] = "Changed."
    assert await snapshot(backend) == before
    for passage in (await backend.known()).passages.values():
        passage["metadata"]["pages"] = 4
    assert await snapshot(backend) == before


async def test_what_no_chunk_mentions_is_not_kept(backend: Backend) -> None:
    draft = story()
    draft["entities"] += document("x", chunk("Zoe", ["Zoe"]), aliases={"Zoe": ["Zed"]})["entities"]
    draft["relationships"].append(relation("Ada", "MET", "Zoe"))
    await backend.write(story())
    before = await snapshot(backend)
    await backend.write(document("secret", chunk("Zoe", ["Zoe"])), draft)
    await backend.delete("secret")
    assert await snapshot(backend) == before
    assert await backend.entities.find_exact(["zed", "zoe"], access=ACCESS) == []


async def test_spellings_of_one_name_are_one_entity_and_one_mention(backend: Backend) -> None:
    spellings = [mention("The Café", count=2), mention("café", subject=True)]
    spellings[1]["offsets"] = [1, 7]
    await backend.write(document("one", chunk("x", spellings)))
    known = await backend.known()
    (row,) = await backend.entities.mentions_in([*known.passages], access=ACCESS)
    assert (row["count"], row["subject"], row["df"]) == (3, True, 1)


async def test_a_relation_needs_two_ends_that_the_document_mentions(backend: Backend) -> None:
    relations = [
        relation("a", "MET", "b"),
        relation("a", "MET", "nobody"),
        relation("a", "MET", "a"),
    ]
    await backend.write(document("one", chunk("x", ["a", "b"]), relations=relations))
    known = await backend.known()
    (met,) = known.relationships.values()
    assert (met["source"], met["target"]) == (known.entity("a"), known.entity("b"))


async def test_who_may_read_changes_with_the_document(backend: Backend) -> None:
    async def readable(*principals: str) -> tuple[int, int, int]:
        known = await backend.known(principals=principals)
        return len(known.passages), len(known.entities), len(known.relationships)

    await backend.write(story(acl=("eve", "ada")))
    assert (await readable("ada"), await readable("eve"), await readable()) == (
        (2, 3, 2),
        (2, 3, 2),
        (0, 0, 0),
    )
    await backend.write(story(acl=("eve", "public")))
    assert await readable() == await readable("bob") == (2, 3, 2)
    await backend.write(story(acl=("ada",)))
    assert (await readable("ada"), await readable("eve"), await readable()) == (
        (2, 3, 2),
        (0, 0, 0),
        (0, 0, 0),
    )


@pytest.mark.parametrize("seed", range(8))
async def test_any_history_leaves_what_a_fresh_ingestion_of_the_rest_would(
    backend: Backend, seed: int
) -> None:
    rng, rest = random.Random(seed), dict[str, DocumentDraft]()
    for _ in range(10):
        draft, chance = history(rng), rng.random()
        if chance < 0.3:
            await backend.delete(draft["key"], namespace="lived")
            rest.pop(draft["key"], None)
        elif chance < 0.4:
            bad: DocumentDraft = {**draft, "acl": []}
            report = await backend.documents.write([bad], access=reader(namespace="lived"))
            assert list(report["failed"]) == [draft["key"]]
        else:
            await backend.write(draft, namespace="lived")
            rest[draft["key"]] = draft
    await backend.write(*rest.values(), namespace="fresh")
    assert await snapshot(backend, "lived") == await snapshot(backend, "fresh")
    (lived,), (fresh,) = await size(backend, "lived"), await size(backend, "fresh")
    assert {**lived, "namespace": ""} == {**fresh, "namespace": ""}
