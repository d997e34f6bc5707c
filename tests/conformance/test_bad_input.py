"""What cannot be done is refused with what to change, and leaves nothing behind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from clew.models.embeddings import pack
from clew.stores.errors import InvalidInput
from clew.stores.postgres.chunks import PostgresChunkStore
from clew.stores.postgres.entities import PostgresEntityStore
from clew.stores.postgres.graph import PostgresGraphStore
from clew.stores.protocols import ChunkStore, EntityStore, GraphStore
from clew.stores.records import DocumentDraft, Filters, SectionDraft
from clew.stores.walk import Walk
from clew.tests.stores.postgres.drafts import (
    DIMENSION,
    EVERYTHING,
    chunk,
    document,
    mention,
    reader,
    relation,
    story,
    unit,
)

from .backends import Backend
from .test_documents import size, snapshot

ACCESS = reader()
NAN = math.nan
NOT_A_NUMBER = np.full(DIMENSION, NAN, dtype=np.float32)


def met(**more: Any) -> DocumentDraft:
    """A document whose only relation is not as it should be."""
    kind = more.pop("kind", "MET")
    return document(
        "bad",
        chunk("Ada met Bob", ["Ada", "Bob"]),
        relations=[relation("Ada", kind, "Bob", **more)],
    )


def with_chunk(**changes: object) -> DocumentDraft:
    draft = story("bad")
    draft["chunks"][1].update(changes)  # type: ignore[typeddict-item]
    return draft


def with_entity(**changes: object) -> DocumentDraft:
    draft = story("bad")
    draft["entities"][0].update(changes)  # type: ignore[typeddict-item]
    return draft


def with_section(**changes: object) -> DocumentDraft:
    draft = story("bad")
    section = SectionDraft(
        index=0, span_start=0, span_end=1, text="all", embedding=pack(unit("all"))
    )
    draft["sections"] = [section, {**section, "index": 1, **changes}]  # type: ignore[typeddict-item]
    return draft


# What is wrong, a document that is, and words that its refusal says of it.
BAD: dict[str, tuple[Callable[[], DocumentDraft], str]] = {
    "null byte in the title": (lambda: {**story("bad"), "title": "a\0b"}, "null byte"),
    "null byte in the text": (lambda: {**story("bad"), "text": "a\0b"}, "null byte"),
    "null byte in a chunk": (lambda: with_chunk(text="a\0b"), "null byte"),
    "null byte in a heading": (lambda: with_chunk(header="a\0b"), "null byte"),
    "null byte in a section": (lambda: with_section(text="a\0b"), "null byte"),
    "null byte in the category": (lambda: {**story("bad"), "category": "a\0b"}, ""),
    "null byte in the metadata": (lambda: {**story("bad"), "metadata": {"a": ["\0"]}}, ""),
    "null byte in a name": (lambda: document("bad", chunk("x", ["Ada\0"])), "null byte"),
    "null byte in an alias": (lambda: with_entity(aliases=["a\0b"]), "null byte"),
    "null byte in a principal": (lambda: story("bad", acl=("a\0b",)), "null byte"),
    "half a surrogate pair in the title": (lambda: {**story("bad"), "title": "a\ud800b"}, ""),
    "half a surrogate pair in a chunk": (lambda: with_chunk(text="a\ud800b"), ""),
    "half a surrogate pair in a name": (lambda: document("bad", chunk("x", ["a\ud800b"])), ""),
    "no confidence": (lambda: met(confidence=0.0), r"confidence 0.0; it must lie in \(0, 1\]"),
    "negative confidence": (lambda: met(confidence=-0.5), r"confidence -0.5"),
    "too sure": (lambda: met(confidence=1.5), r"confidence 1.5; it must lie in \(0, 1\]"),
    "confidence that is no number": (lambda: met(confidence=NAN), "confidence nan"),
    "boundless confidence": (lambda: met(confidence=math.inf), "confidence inf"),
    "an entity too sure": (lambda: with_entity(confidence=1.5), ""),
    "an entity as sure as no number": (lambda: with_entity(confidence=NAN), ""),
    "no evidence": (lambda: met(evidence=[]), "at least one of the document's 1 chunks"),
    "evidence elsewhere": (lambda: met(evidence=[0, 1]), "at least one of the document's 1 chunks"),
    "a relation of odd type": (lambda: met(kind="MET') OR 1=1 --"), "cannot be the type"),
    "a relation of no type": (lambda: met(kind=""), "cannot be the type"),
    "a relation of endless type": (lambda: met(kind="A" * 101), "at most 99 letters"),
    "an entity of odd type": (
        lambda: document("bad", chunk("x", [mention("Ada", kind="NAME`]->() //")])),
        "cannot be the type",
    ),
    "a vector of another model": (
        lambda: document("bad", "fine", chunk("x", embedding=np.ones(3, dtype=np.float32))),
        "chunk 1 has 3 dimensions; the model of this store makes 384",
    ),
    "a vector that is no number": (
        lambda: document("bad", chunk("x", embedding=NOT_A_NUMBER)),
        "chunk 0 has an element that is not a number",
    ),
    "a boundless vector": (
        lambda: document("bad", chunk("x", embedding=np.full(DIMENSION, np.inf, np.float32))),
        "chunk 0 has an element that is not a number",
    ),
    "a vector that cannot be read": (lambda: with_chunk(embedding="AAA"), "cannot be decoded"),
    "no vector": (lambda: with_chunk(embedding=""), "has 0 dimensions"),
    "an entity's vector of another model": (
        lambda: with_entity(embedding=pack(np.ones(3, dtype=np.float32))),
        "entity 'Ada' has 3 dimensions",
    ),
    "an entity's vector that is no number": (
        lambda: with_entity(embedding=pack(NOT_A_NUMBER)),
        "entity 'Ada' has an element that is not a number",
    ),
    "a section's vector of another model": (
        lambda: with_section(embedding=pack(np.ones(3, dtype=np.float32))),
        "section 1 has 3 dimensions",
    ),
    "a section that ends before it starts": (lambda: with_section(span_start=2), ""),
    "two sections in one place": (lambda: with_section(index=0), ""),
    "two chunks in one place": (lambda: with_chunk(index=0), ""),
    "nobody may read it": (lambda: story("bad", acl=()), "access list is empty"),
    "half a date": (lambda: {**story("bad"), "date": "1843"}, ""),
    "a day that never was": (lambda: {**story("bad"), "date": "1843-02-30"}, ""),
}


@pytest.mark.parametrize("wrong", BAD)
async def test_a_document_that_is_refused_leaves_nothing_and_the_others_land(
    backend: Backend, wrong: str
) -> None:
    make, sentence = BAD[wrong]
    first = document("first", chunk("Ada met Eve", ["Ada"]))
    await backend.write(story("bad"), story("there"))
    report = await backend.documents.write([first, make(), story("last")], access=ACCESS)
    assert (report["written"], report["replaced"]) == (["first", "last"], [])
    assert [*report["failed"]] == ["bad"]
    assert sentence.replace("\\", "") in report["failed"]["bad"]
    after = await snapshot(backend)
    # What it was to replace is still there, as if nobody had tried.
    await backend.write(story("bad"), namespace="other")
    await backend.write(story("there"), first, story("last"), namespace="other")
    assert after == await snapshot(backend, "other")


async def test_a_namespace_in_which_nothing_landed_does_not_exist(backend: Backend) -> None:
    report = await backend.documents.write([story(acl=()), met(kind="?")], access=ACCESS)
    assert {*report["failed"]} == {"story", "bad"}
    assert await size(backend) == []


@pytest.mark.parametrize("weight", [0.0, -0.5, 1.0000001, 2.0, NAN, math.inf, -math.inf])
async def test_a_seed_is_worth_more_than_nothing_and_at_most_one(
    graph_backend: Backend, weight: float
) -> None:
    await graph_backend.write(story())
    (ada, *_) = (await graph_backend.known()).entities
    graph = graph_backend.graph
    for id_ in (ada, 10**9):
        sentence = rf"of entity {id_} is {weight}; it must lie in \(0, 1\]"
        with pytest.raises(InvalidInput, match=sentence.replace("+", r"\+")):
            await graph.expand({ada: 0.5, id_: weight}, walk=Walk(), access=ACCESS)
        with pytest.raises(InvalidInput, match=sentence.replace("+", r"\+")):
            await graph.mentions_of({ada: 0.5, id_: weight}, limit=9, always=[], access=ACCESS)


async def test_types_of_a_walk_may_be_called_anything(graph_backend: Backend) -> None:
    await graph_backend.write(met())
    (ada, *_) = (await graph_backend.known()).entities
    for odd in ("", "`]->() //", "MET'", '{"a": 1}', "MET|LEFT"):
        found = await graph_backend.graph.expand(
            {ada: 1.0}, walk=Walk(type_weights={odd: 0.5}), access=ACCESS
        )
        assert [one["hop"] for one in found] == [0, 1], odd


async def test_a_question_that_cannot_be_asked_is_the_callers_mistake(backend: Backend) -> None:
    draft = document("one", chunk("gold", ["Gold"]))
    draft["sections"] = with_section()["sections"][:1]
    await backend.write(draft)
    known = await backend.known()
    (id_,), (entity,) = known.passages, known.entities
    (section,) = await backend.sections.search_sections(
        unit(1), limit=1, filters=EVERYTHING, access=ACCESS
    )
    for question in ("gold\0", "gold\ud800"):
        with pytest.raises(InvalidInput):
            await backend.chunks.search_text(question, limit=1, filters=EVERYTHING, access=ACCESS)
        with pytest.raises(InvalidInput):
            await backend.chunks.score(
                [id_], embedding=unit(1), question=question, filters=EVERYTHING, access=ACCESS
            )
    for vector in (unit(1)[:5], NOT_A_NUMBER, np.full(DIMENSION, np.inf, dtype=np.float32)):
        with pytest.raises(InvalidInput):
            await backend.chunks.search_vector(vector, limit=1, filters=EVERYTHING, access=ACCESS)
        with pytest.raises(InvalidInput):
            await backend.chunks.score(
                [id_], embedding=vector, question="gold", filters=EVERYTHING, access=ACCESS
            )
        with pytest.raises(InvalidInput):
            await backend.sections.search_sections(
                vector, limit=1, filters=EVERYTHING, access=ACCESS
            )
        with pytest.raises(InvalidInput):
            await backend.sections.search_spans(
                [section["id"]], vector, limit=1, filters=EVERYTHING, access=ACCESS
            )
        with pytest.raises(InvalidInput):
            await backend.entities.similarity([entity], embedding=vector, access=ACCESS)
        with pytest.raises(InvalidInput):
            await backend.entities.find_nearest(
                ["x"], vector[None], limit=1, min_cosine=0.0, access=ACCESS
            )


@pytest.mark.parametrize(
    "filters",
    [
        {"date_from": "soon"},
        {"date_to": "1900-02-30"},
        {"category": ["\0"]},
        {"category": ["a\ud800"]},
        {"exclude": ["\0"]},
        {"exclude": ["a\ud800"]},
    ],
)
async def test_a_filter_that_nothing_can_pass_is_the_callers_mistake(
    backend: Backend, filters: Filters
) -> None:
    await backend.write(document("one", "gold"))
    with pytest.raises(InvalidInput):
        await backend.chunks.search_vector(unit(1), limit=1, filters=filters, access=ACCESS)
    with pytest.raises(InvalidInput):
        await backend.chunks.search_text("gold", limit=1, filters=filters, access=ACCESS)
    with pytest.raises(InvalidInput):
        await backend.sections.search_sections(unit(1), limit=1, filters=filters, access=ACCESS)


async def test_ids_that_mean_nothing_are_skipped(backend: Backend) -> None:
    await backend.write(story())
    graph, entities, chunks = backend.graph, backend.entities, backend.chunks
    for unknown in ([10**9], [-1, 0, 2**62]):
        weights = dict.fromkeys(unknown, 1.0)
        assert await graph.expand(weights, walk=Walk(), access=ACCESS) == []
        assert await graph.mentions_of(weights, limit=9, always=unknown, access=ACCESS) == []
        assert await graph.relationships_among(unknown, limit=9, access=ACCESS) == []
        assert await entities.mentions_in(unknown, access=ACCESS) == []
        assert await entities.near_chunks(unknown, limit=9, min_cosine=-1.0, access=ACCESS) == []
        assert await entities.similarity(unknown, embedding=unit(1), access=ACCESS) == []
        assert await chunks.fetch(unknown, access=ACCESS) == []
        assert await chunks.neighbours(unknown, reach=1, access=ACCESS) == []
        assert await chunks.links(unknown, max_df=9, fanout=9, access=ACCESS) == []
        assert (
            await chunks.score(
                unknown, embedding=unit(1), question="Ada", filters=EVERYTHING, access=ACCESS
            )
            == []
        )


Nobody = tuple[ChunkStore, EntityStore, GraphStore]


def nobody_in_postgres() -> Nobody:
    nobody = cast("Any", None)
    return PostgresChunkStore(nobody), PostgresEntityStore(nobody), PostgresGraphStore(nobody)


@pytest.mark.parametrize("nobody", [nobody_in_postgres])
async def test_asking_about_nothing_asks_nobody(nobody: Callable[[], Nobody]) -> None:
    chunks, entities, graph = nobody()
    assert await graph.expand({}, walk=Walk(), access=ACCESS) == []
    assert await graph.mentions_of({}, limit=9, always=[1], access=ACCESS) == []
    assert await graph.relationships_among([], limit=9, access=ACCESS) == []
    assert await entities.find_exact([], access=ACCESS) == []
    assert await entities.find_similar([], limit=9, access=ACCESS) == []
    assert await entities.find_text([], limit=9, access=ACCESS) == []
    none = np.empty((0, DIMENSION), dtype=np.float32)
    assert await entities.find_nearest([], none, limit=9, min_cosine=0.0, access=ACCESS) == []
    assert await entities.similarity([], embedding=unit(1), access=ACCESS) == []
    assert await entities.mentions_in([], access=ACCESS) == []
    assert await entities.near_chunks([], limit=9, min_cosine=0.0, access=ACCESS) == []
    assert await chunks.fetch([], access=ACCESS) == []
    assert await chunks.neighbours([], reach=1, access=ACCESS) == []
    assert await chunks.links([], max_df=9, fanout=9, access=ACCESS) == []
    assert (
        await chunks.score([], embedding=unit(1), question="Ada", filters=EVERYTHING, access=ACCESS)
        == []
    )
