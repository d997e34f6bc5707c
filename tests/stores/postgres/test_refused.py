"""Documents that cannot be kept: one sentence each, and nothing of them is written."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clew.models.embeddings import pack
from clew.stores.records import DocumentDraft

from .conftest import Stores
from .drafts import NAME, chunk, document, mention, reader, relation, section, story, unit

ACCESS = reader()
LONG = random.Random(1).randbytes(9000).hex()
"""More than an index can hold, and nothing to compress."""


def _with_chunk(**changes: object) -> DocumentDraft:
    draft = story("bad")
    draft["chunks"][1].update(changes)  # type: ignore[typeddict-item]
    return draft


def _with_section(**changes: object) -> DocumentDraft:
    draft = story("bad")
    draft["sections"] = [section(0, 0, 0, "first"), section(1, 1, 1, "second")]
    draft["sections"][1].update(changes)  # type: ignore[typeddict-item]
    return draft


def _with_entity(**changes: object) -> DocumentDraft:
    draft = story("bad")
    draft["entities"][0].update(changes)  # type: ignore[typeddict-item]
    return draft


def _met(kind: str = "MET", **more: Any) -> DocumentDraft:
    met = relation("Ada", kind, "Bob", **more)
    return document("bad", chunk("Ada met Bob", ["Ada", "Bob"]), relations=[met])


def _typed(kind: str) -> DocumentDraft:
    return document("bad", chunk("Ada", [mention("Ada", kind=kind)]))


def _vector(*, number: float = 0.1, size: int = 384) -> str:
    vector = np.full(size, 0.1, dtype=np.float32)
    vector[-1] = number
    return pack(vector)


# A document, and what the sentence must say of it.
BAD: dict[str, tuple[Callable[[], DocumentDraft], str]] = {
    "null byte in the key": (lambda: {**story("bad"), "key": "bad\0"}, "null byte"),
    "null byte in the title": (lambda: {**story("bad"), "title": "a\0b"}, "null byte"),
    "null byte in a chunk": (lambda: _with_chunk(text="a\0b"), "null byte"),
    "null byte in a header": (lambda: _with_chunk(header="a\0b"), "null byte"),
    "null byte in a section": (lambda: _with_section(text="a\0b"), "null byte"),
    "null byte in a name": (
        lambda: document("bad", chunk("Ada", ["Ada\0"])),
        "null byte; remove it",
    ),
    "null byte in an alias": (lambda: _with_entity(aliases=["a\0b"]), "null byte"),
    "null byte in a principal": (lambda: story("bad", acl=("a\0b",)), "null byte"),
    "null byte in the category": (lambda: {**story("bad"), "category": "a\0b"}, "null byte"),
    "null byte in the metadata": (lambda: {**story("bad"), "metadata": {"a": "\0"}}, "null byte"),
    "null byte in the properties": (lambda: _with_entity(properties={"a": "\0"}), "null byte"),
    "half a surrogate pair in the title": (
        lambda: {**story("bad"), "title": "a\ud800b"},
        "half a surrogate pair; remove it",
    ),
    "half a surrogate pair in a chunk": (
        lambda: _with_chunk(text="a\ud800b"),
        "half a surrogate pair; remove it",
    ),
    "no weight": (lambda: _met(confidence=0.0), r"MET has confidence 0.0; .* in \(0, 1\]"),
    "less than no weight": (lambda: _met(confidence=-0.5), "MET has confidence -0.5"),
    "too sure": (lambda: _met(confidence=1.5), "MET has confidence 1.5"),
    "no number": (lambda: _met(confidence=float("nan")), "MET has confidence nan"),
    "no evidence": (lambda: _met(evidence=[]), r"chunks \[\]; name .* at least one .* 1 chunks"),
    "evidence beyond the end": (lambda: _met(evidence=[0, 1]), r"rests on chunks \[0, 1\]"),
    "evidence before the start": (lambda: _met(evidence=[-1]), r"rests on chunks \[-1\]"),
    "a relation of an odd type": (lambda: _met("met`) --"), "cannot be the type of"),
    "a relation without a type": (lambda: _met(""), "'' cannot be the type of"),
    "an entity of an odd type": (lambda: _typed("1ST"), "'1ST' cannot be the type of"),
    "an entity of a quoted type": (lambda: _typed("A'B"), "cannot be the type of"),
    "an entity of a long type": (lambda: _typed("A" * 101), "at most 99 letters"),
    "an entity of two lines": (lambda: _typed("A\nB"), "cannot be the type of"),
    "a name that ends in a typed line": (lambda: _typed(f"{NAME}\n"), "cannot be the type of"),
    "a vector of another model": (
        lambda: _with_chunk(embedding=_vector(size=3)),
        "chunk 1 has 3 dimensions; the model of this store makes 384",
    ),
    "an entity's vector of another model": (
        lambda: _with_entity(embedding=_vector(size=385)),
        "the entity 'Ada' has 385 dimensions",
    ),
    "a section's vector of another model": (
        lambda: _with_section(embedding=_vector(size=1)),
        "section 1 has 1 dimensions",
    ),
    "a vector that is not a number": (
        lambda: _with_chunk(embedding=_vector(number=float("nan"))),
        "chunk 1 has an element that is not a number",
    ),
    "a vector without end": (
        lambda: _with_chunk(embedding=_vector(number=float("inf"))),
        "chunk 1 has an element that is not a number",
    ),
    "an entity's vector that is not a number": (
        lambda: _with_entity(embedding=_vector(number=float("nan"))),
        "the entity 'Ada' has an element",
    ),
    "a section's vector that is not a number": (
        lambda: _with_section(embedding=_vector(number=float("nan"))),
        "section 1 has an element",
    ),
    "no vector": (lambda: _with_chunk(embedding=""), "chunk 1 has 0 dimensions"),
    "half a vector": (lambda: _with_chunk(embedding="AAA"), "chunk 1 cannot be decoded"),
    "nobody may read it": (lambda: story("bad", acl=()), "access list is empty; name who"),
    "half a date": (lambda: {**story("bad"), "date": "1843"}, "not a date; write YYYY-MM-DD"),
    "two chunks in one place": (lambda: _with_chunk(index=0), "Two chunks have the index 0"),
    "two sections in one place": (lambda: _with_section(index=0), "Two sections have the index 0"),
    "a section that ends before it begins": (
        lambda: _with_section(span_start=1, span_end=0),
        "Section . ends before it starts",
    ),
    "an entity surer than sure": (lambda: _with_entity(confidence=1.5), r"confidence 1.5; it must"),
    "words beyond number": (
        lambda: _with_chunk(text=" ".join(f"w{n}" for n in range(150_000))),
        "refused a value",
    ),
    "a name beyond length": (lambda: document("bad", chunk("x", [LONG])), "refused a value"),
    "an alias beyond length": (lambda: _with_entity(aliases=[LONG]), "refused a value"),
    "a principal beyond length": (lambda: story("bad", acl=(LONG,)), "refused a value"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", BAD)
async def test_a_document_that_fails_leaves_nothing_and_the_others_land(
    stores: Stores, wrong: str
) -> None:
    make, sentence = BAD[wrong]
    first = document("first", chunk("Ada met Eve", ["Ada"]))
    await stores.write(first, story("last"))
    expected = await stores.snapshot()
    await stores.documents.delete(["first", "last"], access=ACCESS)
    bad = make()
    report = await stores.documents.write([first, bad, story("last")], access=ACCESS)
    assert report["written"] == ["first", "last"]
    assert list(report["failed"]) == [bad["key"]]
    said = report["failed"][bad["key"]]
    assert said.endswith((".", "& / + -"))
    assert "\n" not in said
    assert pytest.raises(ValueError, match=sentence).matches(ValueError(said)), said
    assert await stores.snapshot() == expected


async def test_a_replacement_that_fails_leaves_what_it_was_to_replace(stores: Stores) -> None:
    await stores.write(story())
    before = await stores.snapshot()
    for bad in ({**story(), "acl": []}, {**story(), "date": "1843"}):
        report = await stores.documents.write([bad], access=ACCESS)  # type: ignore[list-item]
        assert list(report["failed"]) == ["story"]
        assert await stores.snapshot() == before


async def test_a_first_document_that_fails_leaves_no_namespace(stores: Stores) -> None:
    for wrong in ("no weight", "half a date"):
        await stores.documents.write([BAD[wrong][0]()], access=ACCESS)
        assert await stores.entities.stats(access=ACCESS) == []


@pytest.mark.parametrize("kind", ["NAME", "é", "a.b:C&d/e+f-g h_9", "Ort", "人", "A" * 100])
async def test_a_type_may_be_what_a_label_may_be(stores: Stores, kind: str) -> None:
    met = relation("Ada", kind, "Bob")
    met["source"], met["target"] = ("Ada", kind), ("Bob", kind)
    both = [mention(name, kind=kind) for name in ("Ada", "Bob")]
    await stores.write(document("one", chunk("x", both), relations=[met]))
    (kept,) = (await stores.snapshot())["relationships"]
    assert kept[:3] == ("ada", kind, "bob")


async def test_chunks_that_are_not_numbered_from_nought_bear_nothing_out(stores: Stores) -> None:
    gap = _with_chunk(index=5)  # LEFT rests on the second chunk, which there is not
    report = await stores.documents.write([gap], access=ACCESS)
    assert list(report["failed"]) == ["bad"]


async def test_a_vector_without_a_direction_is_refused(stores: Stores) -> None:
    nought = document("bad", chunk("x", embedding=0 * unit("x")))
    report = await stores.documents.write([nought], access=ACCESS)
    assert list(report["failed"]) == ["bad"]
