"""Two-tier search: sections by meaning, then the chunks that lie in them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clew.models.embeddings import pack
from clew.stores.access import Access
from clew.stores.records import DocumentDraft, Filters, SectionDraft
from clew.tests.stores.postgres.drafts import (
    EVERYTHING,
    chunk,
    cosine,
    document,
    reader,
    stored,
    unit,
)

from .backends import Backend

ASKED = unit("asked")


def divided(key: str, spans: Sequence[tuple[int, int]], **more: object) -> DocumentDraft:
    """A document of six chunks; the vectors of chunks and sections are those of their names."""
    draft = document(key, *(chunk(f"{key}{n}") for n in range(6)), **more)  # type: ignore[arg-type]
    draft["sections"] = [
        SectionDraft(
            index=index,
            span_start=start,
            span_end=end,
            text=f"{key} {start}-{end}",
            embedding=pack(unit(f"{key} {start}-{end}")),
        )
        for index, (start, end) in enumerate(spans)
    ]
    return draft


async def library(backend: Backend) -> None:
    await backend.write(
        divided("a", [(0, 2), (3, 5)], category="tale", date="1900-01-01"),
        divided("b", [(0, 0), (1, 3)], acl=["ada"], metadata={"page": 1}),
        divided("c", [(0, 5)], acl=["eve"]),
        document("whole", "whole0", "whole1", category="tale"),
        document("shut", "shut0", acl=["eve"]),
    )
    await backend.write(divided("d", [(0, 1)]), document("far", "far0"), namespace="other")


async def sections(
    backend: Backend, access: Access, filters: Filters = EVERYTHING, limit: int = 99
) -> dict[str, int]:
    """The sections found, by document and span; each with the score that its vector has."""
    found = await backend.sections.search_sections(
        ASKED, limit=limit, filters=filters, access=access
    )
    assert found == sorted(found, key=lambda hit: (-hit["score"], hit["id"]))
    passages = (await backend.known("main", "other")).passages.values()
    keys = {one["document"]: one["document_id"] for one in passages}
    names = [f"{keys[one['document']]} {one['span_start']}-{one['span_end']}" for one in found]
    assert [one["score"] for one in found] == pytest.approx(
        [cosine(stored(ASKED), stored(unit(name))) for name in names], abs=1e-5
    )
    return {name: one["id"] for name, one in zip(names, found, strict=True)}


async def test_sections_are_found_by_cosine_where_they_may_be_read(backend: Backend) -> None:
    await library(backend)
    both = Access(("main", "other"), ("ada",))
    assert {*await sections(backend, reader())} == {"a 0-2", "a 3-5"}
    assert {*await sections(backend, reader("ada"))} == {"a 0-2", "a 3-5", "b 0-0", "b 1-3"}
    everywhere = [*await sections(backend, both)]
    assert {*everywhere} == {"a 0-2", "a 3-5", "b 0-0", "b 1-3", "d 0-1"}
    assert [*await sections(backend, both, limit=2)] == everywhere[:2]
    assert await sections(backend, Access((), ("ada",))) == {}


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"category": ["tale"]}, {"a 0-2", "a 3-5"}),
        ({"metadata": {"page": 1}}, {"b 0-0", "b 1-3"}),
        ({"date_to": "1900-01-01"}, {"a 0-2", "a 3-5"}),
        ({"date_from": "1900-01-02"}, set[str]()),
        ({"exclude": ["a", "none"]}, {"b 0-0", "b 1-3"}),
    ],
)
async def test_a_section_is_filtered_as_its_document_is(
    backend: Backend, filters: Filters, found: set[str]
) -> None:
    await library(backend)
    assert {*await sections(backend, reader("ada"), filters)} == found


async def test_spans_hold_their_chunks_and_documents_without_sections_all_of_theirs(
    backend: Backend,
) -> None:
    await library(backend)
    known = await backend.known("main", "other")
    ids = await sections(backend, Access(("main", "other"), ("ada", "eve")))

    async def inside(
        *names: str, access: Access | None = None, filters: Filters = EVERYTHING, limit: int = 99
    ) -> list[str]:
        hits = await backend.sections.search_spans(
            [*(ids[name] for name in names), 10**9],
            ASKED,
            limit=limit,
            filters=filters,
            access=reader() if access is None else access,
        )
        texts = [known.text(hit["id"]) for hit in hits]
        assert [hit["score"] for hit in hits] == pytest.approx(
            [cosine(stored(ASKED), stored(unit(text))) for text in texts], abs=1e-5
        )
        assert hits == sorted(hits, key=lambda hit: (-hit["score"], hit["id"]))
        return texts if limit < 99 else sorted(texts)

    whole = ["whole0", "whole1"]
    assert await inside() == whole
    assert await inside("a 0-2") == ["a0", "a1", "a2", "whole0", "whole1"]
    assert await inside("a 0-2", "a 0-2", "a 3-5") == [
        *(f"a{n}" for n in range(6)),
        *await inside(),
    ]
    # A section that may not be read opens nothing.
    assert await inside("b 1-3", "c 0-5", "d 0-1") == ["whole0", "whole1"]
    assert await inside("b 1-3", access=reader("ada")) == ["b1", "b2", "b3", "whole0", "whole1"]
    assert await inside("d 0-1", access=reader(namespace="other")) == ["d0", "d1", "far0"]
    assert await inside("a 3-5", filters={"date_from": "1900-01-01"}) == ["a3", "a4", "a5"]
    assert await inside("a 3-5", filters={"exclude": ["a"]}) == whole
    assert await inside("a 3-5", filters={"exclude": ["whole"]}) == ["a3", "a4", "a5"]
    ordered = sorted(
        ["a0", "a1", "a2", "whole0", "whole1"],
        key=lambda text: -cosine(stored(ASKED), stored(unit(text))),
    )
    assert await inside("a 0-2", limit=2) == ordered[:2]
    assert await inside("a 0-2", access=Access((), ("ada", "eve"))) == []


async def test_sections_go_with_their_document_and_come_anew(backend: Backend) -> None:
    await backend.write(divided("a", [(0, 2), (3, 5)]))
    before = await sections(backend, reader())
    await backend.write(divided("a", [(0, 2)]))
    after = await sections(backend, reader())
    assert {*before} == {"a 0-2", "a 3-5"}
    assert {*after} == {"a 0-2"}
    assert not {*before.values()} & {*after.values()}
    await backend.write(document("a", "plain"))
    assert await sections(backend, reader()) == {}
    hits = await backend.sections.search_spans(
        [], ASKED, limit=9, filters=EVERYTHING, access=reader()
    )
    assert len(hits) == 1
    await backend.delete("a")
    assert not await backend.sections.search_spans(
        [], ASKED, limit=9, filters=EVERYTHING, access=reader()
    )


async def test_documents_that_lack_sections_are_counted_and_told_apart(backend: Backend) -> None:
    await library(backend)
    await backend.write(document("empty"))
    both = Access(("main", "other", "none"))
    assert await backend.sections.unsectioned(access=both) == 3
    assert await backend.sections.unsectioned(access=reader()) == 2
    assert await backend.sections.unsectioned(access=Access(())) == 0
    keys = ["a", "c", "whole", "shut", "empty", "none"]
    every = await backend.documents.hashes(keys, access=reader())
    assert {*every} == {"a", "c", "whole", "shut", "empty"}
    sectioned = await backend.documents.hashes(keys, sectioned=True, access=reader())
    assert sectioned == {key: every[key] for key in ("a", "c", "empty")}
