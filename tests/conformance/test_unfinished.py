"""Documents that wait for a language model are told of, given back, and written if unchanged."""

from __future__ import annotations

from typing import Any, cast

import pytest

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.records import CO_OCCURS, DocumentDraft
from clew.stores.unfinished import CHANGED, UnfinishedDocuments, extraction_of, marked
from clew.tests.stores.postgres.drafts import chunk, document, reader, relation, section, story

from .backends import Backend

ACCESS = reader()


def of(backend: Backend) -> UnfinishedDocuments:
    return cast("UnfinishedDocuments", backend.documents)


def found_by(how: str, draft: DocumentDraft) -> DocumentDraft:
    return {**draft, "content_hash": marked(draft["content_hash"], how)}


async def snapshot(backend: Backend) -> Any:
    """What stands in the namespace, without ids."""
    known = await backend.known()
    mentions = await backend.entities.mentions_in([*known.passages], access=ACCESS)
    chunks = sorted(
        (known.text(m["chunk"]), m["name"], m["type"], m["count"], m["subject"], m["df"])
        for m in mentions
    )
    relations = sorted(
        (known.name(r["source"]), r["type"], known.name(r["target"]), r["weight"], r["confidence"],
         *sorted(map(known.text, r["evidence"])))
        for r in known.relationships.values()
    )  # fmt: skip
    aliased = await backend.entities.find_exact(["countess of lovelace"], access=ACCESS)
    return chunks, relations, [match["entity"]["name"] for match in aliased]


def test_how_names_were_found_stands_beside_the_hash() -> None:
    assert marked("abc", "llm a+b") == "abc+llm a+b"
    assert marked("abc+llm a+b", "given") == "abc+given"
    assert [extraction_of(one) for one in ("abc", "abc+llm a+b")] == ["", "llm a+b"]


async def test_a_pending_document_is_found_and_not_told_of_as_done(backend: Backend) -> None:
    await backend.write({**story(), "pending": True}, story("done"))
    assert list(await backend.documents.hashes(["story", "done"], access=ACCESS)) == ["done"]
    assert len((await backend.known()).passages) == 4
    assert await of(backend).unfinished(settled=None, access=ACCESS) == ["story"]
    await backend.write(story())
    assert await of(backend).unfinished(settled=None, access=ACCESS) == []


async def test_with_settled_ways_all_that_was_found_in_another_waits_too(backend: Backend) -> None:
    await backend.write(
        story("offline"),
        found_by("llm new", story("new")),
        found_by("llm old", story("old")),
        found_by("given", story("given")),
        {**found_by("llm new", story("again")), "pending": True},
    )
    await backend.write(story("else"), namespace="other")
    settled = ["llm new", "given"]
    waiting = await of(backend).unfinished(settled=settled, access=ACCESS)
    assert waiting == ["again", "offline", "old"]
    assert await of(backend).unfinished(settled=settled, access=reader(namespace="no")) == []


async def test_what_is_given_back_and_written_again_changes_nothing(backend: Backend) -> None:
    whole: DocumentDraft = {**story(), "sections": [section(0, 0, 1, "Ada met Bob. Bob left.")]}
    await backend.write(whole, story("twin"), document("empty"))
    before = await snapshot(backend)
    drafts = await of(backend).drafts(["story", "none", "empty", "twin"], access=ACCESS)
    assert [draft["key"] for draft in drafts] == ["story", "empty", "twin"]
    for name in ("title", "source", "category", "date", "metadata", "acl", "content_hash"):
        assert drafts[0][name] == whole[name]
    report = await backend.documents.write(drafts, access=ACCESS)
    assert report == {"written": [], "replaced": ["story", "empty", "twin"], "failed": {}}
    assert await snapshot(backend) == before
    assert list(await backend.documents.hashes(["story"], sectioned=True, access=ACCESS)) == [
        "story"
    ]
    await backend.delete("story", "empty", "twin")
    assert (await backend.known()).passages == {}


@pytest.mark.parametrize("meanwhile", ["replaced", "deleted"])
async def test_a_draft_does_not_replace_what_came_after_it(
    backend: Backend, meanwhile: str
) -> None:
    await backend.write({**story(), "pending": True})
    (draft,) = await of(backend).drafts(["story"], access=ACCESS)
    await backend.delete("story")
    if meanwhile == "replaced":
        await backend.write(document("story", "Something else."))
    before = await snapshot(backend)
    report = await backend.documents.write([draft, story("fine")], access=ACCESS)
    assert report == {"written": ["fine"], "replaced": [], "failed": {"story": CHANGED}}
    await backend.delete("fine")
    assert await snapshot(backend) == before


async def test_weights_that_are_forgotten_are_all_made_anew(backend: Backend) -> None:
    pair = [relation("Ada", CO_OCCURS, "Bob", confidence=0.8)]
    await backend.write(document("pair", chunk("Ada, Bob", ["Ada", "Bob"]), relations=pair))
    await backend.write(*(document(f"p{n}", f"Page {n}.") for n in range(10)))
    await backend.weigh()
    (before,) = (await backend.known()).relationships.values()
    await backend.write(document("ada", chunk("Ada", ["Ada"])))
    assert await backend.weigh() == 0, "a page more makes no difference"
    await of(backend).forget_weights(access=ACCESS)
    assert await backend.weigh() == 1
    (after,) = (await backend.known()).relationships.values()
    assert after["weight"] < before["weight"]
    await of(backend).forget_weights(access=reader(namespace="no"))


async def test_they_are_asked_of_one_namespace(backend: Backend) -> None:
    with pytest.raises(InvalidInput):
        await of(backend).unfinished(settled=None, access=Access(("one", "two")))
    with pytest.raises(InvalidInput):
        await of(backend).drafts(["story"], access=Access(()))
