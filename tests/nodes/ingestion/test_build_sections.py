"""Sections are consecutive chunks, said once, and a document can do without them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from pydantic import ValidationError

from clew.models.embeddings import ModelUnavailable, Vector, pack
from clew.nodes.ingestion.build_sections import build_sections
from clew.nodes.ingestion.embed import embed
from clew.nodes.ingestion.split import split
from clew.settings import Settings
from clew.state import IngestionState
from clew.stores.records import ChunkDraft, DocumentDraft
from clew.tests.stores.postgres import drafts as written
from clew.tests.stores.postgres.drafts import chunk, unit

from .stand_ins import WhitespaceEmbedder


class Fake(WhitespaceEmbedder):
    """Every text has a direction of its own; texts with both `between` fail."""

    def __init__(self, error: Exception | None = None, between: tuple[str, str] = ("", "")) -> None:
        super().__init__(32)
        self.error, self.between = error, between
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vector:
        self.asked += texts
        if self.error and any(all(word in text for word in self.between) for text in texts):
            raise self.error
        return np.array([unit(text) for text in texts], dtype=np.float32).reshape(-1, 384)


def document(key: str, *chunks: ChunkDraft | str) -> DocumentDraft:
    """A draft as splitting leaves it: without vectors."""
    draft = written.document(key, *chunks)
    return {**draft, "chunks": [{**one, "embedding": ""} for one in draft["chunks"]]}


async def grouped(*drafts: DocumentDraft, wanted: bool = True, **given: Any) -> list[DocumentDraft]:
    state = IngestionState(sectioned=wanted, batch=list(drafts))
    update = await build_sections(state, settings=Settings(**given))
    return update.get("batch", list(drafts))


def placed(*texts: tuple[int, str]) -> list[ChunkDraft]:
    return [{**chunk(text), "index": n, "start": at} for n, (at, text) in enumerate(texts)]


async def one_text(*texts: tuple[int, str], **given: Any) -> str:
    (draft,) = await grouped({**document("d"), "chunks": placed(*texts)}, **given)
    (section,) = draft["sections"]
    return section["text"]


async def test_a_section_covers_consecutive_chunks_and_the_last_one_the_rest() -> None:
    drafts = await grouped(document("a", *"abcdefg"), document("b", "x"), node_group_size=3)
    spans = [[(s["index"], s["span_start"], s["span_end"]) for s in d["sections"]] for d in drafts]
    assert spans == [[(0, 0, 2), (1, 3, 5), (2, 6, 6)], [(0, 0, 0)]]
    (draft,) = await grouped(document("c", *"abcdefg"))
    assert [(s["span_start"], s["span_end"]) for s in draft["sections"]] == [(0, 4), (5, 6)]
    (alone,) = await grouped(document("d", *"ab"), node_group_size=1)
    assert [s["text"] for s in alone["sections"]] == ["a", "b"]


async def test_without_chunks_there_are_no_sections() -> None:
    (draft,) = await grouped(document("empty"))
    assert draft["sections"] == []


async def test_what_two_chunks_share_is_said_once() -> None:
    assert await one_text((0, "one two three"), (8, "three four")) == "one two three four"
    assert await one_text((0, "one two"), (7, " three")) == "one two three"
    assert await one_text((0, "one two"), (9, "three")) == "one two\nthree"
    assert await one_text((0, "one two three"), (4, "two"), (8, "three four")) == (
        "one two three four"
    )


async def test_nothing_is_lost_when_starts_do_not_tell_what_is_shared() -> None:
    assert await one_text((0, "one"), (0, "two"), (0, "three")) == "one\ntwo\nthree"
    assert await one_text((5, "one two"), (0, "two three")) == "one two\ntwo three"
    assert await one_text((0, "one two"), (4, "2wo three")) == "one two\n2wo three"


async def test_the_text_is_cut_and_the_span_is_not() -> None:
    draft = document("d", *("word " * 20 for _ in range(5)))
    (cut,) = await grouped(draft, node_text_max_chars=70)
    (section,) = cut["sections"]
    assert (len(section["text"]), section["span_end"]) == (70, 4)
    assert all(len(s["text"]) <= 2000 for d in await grouped(draft) for s in d["sections"])


@pytest.mark.parametrize("seed", range(5))
async def test_sections_of_split_text_are_the_text_itself(seed: int) -> None:
    rng = random.Random(seed)
    words = ["iron", "gold.", "lamplighter", "river,", "salt\n\n", "king."]
    text = " ".join(rng.choices(words, k=400))
    update = await split(
        IngestionState(batch=[{**document("d"), "text": text}]),
        embedder=WhitespaceEmbedder(),
        settings=Settings(chunk_overlap=rng.choice([0.0, 0.2, 0.5])),
    )
    (draft,) = await grouped(*update["batch"], node_group_size=4, node_text_max_chars=10**6)
    assert len(draft["sections"]) > 2
    for section in draft["sections"]:
        first, last = (draft["chunks"][section[end]] for end in ("span_start", "span_end"))
        whole = text[first["start"] : last["start"] + len(last["text"])]
        assert section["text"].split() == whole.split()


async def test_when_off_a_draft_has_no_sections_and_no_other_text_is_embedded() -> None:
    draft = document("d", "one", "two")
    assert await build_sections(IngestionState(batch=[draft]), settings=Settings()) == {}
    assert await grouped(draft, wanted=False) == [draft]
    fake = Fake()
    update = await embed(IngestionState(batch=[draft]), embedder=fake)
    assert "sections" not in update["ready"][0]
    assert fake.asked == ["\none", "\ntwo"]
    assert update["degraded"] == []


async def test_sections_are_embedded_under_the_headings_their_chunks_share() -> None:
    headers = ["Ada > Life > Turin", "Ada > Life > London", "Ada > Works", "Bob"]
    draft = document("d", *(chunk(f"t{n}", header=h) for n, h in enumerate(headers)))
    fake = Fake()
    batch = await grouped(draft, node_group_size=2)
    update = await embed(IngestionState(batch=batch), embedder=fake)
    assert fake.asked[-2:] == ["Ada > Life\nt0\nt1", "\nt2\nt3"]
    assert [s["embedding"] for s in update["ready"][0]["sections"]] == [
        pack(unit(text)) for text in fake.asked[-2:]
    ]
    (encoded,) = update["encoded"]
    assert (encoded["chunks"], encoded["sections"]) == (4, 2)
    again = await embed(IngestionState(batch=batch), embedder=Fake())
    assert again["ready"] == update["ready"], "the same every time"


@pytest.mark.parametrize("error", [ModelUnavailable("It does not answer."), TimeoutError()])
async def test_when_sections_cannot_be_embedded_the_chunks_go_on_and_the_run_says_so(
    error: Exception,
) -> None:
    drafts = [document("d", "one", "two"), document("e", "three")]
    fake = Fake(error, ("one", "two"))
    update = await embed(IngestionState(batch=await grouped(*drafts)), embedder=fake)
    without = await embed(IngestionState(batch=drafts), embedder=Fake())
    assert update["ready"] == without["ready"]
    assert not any("sections" in draft for draft in update["ready"])
    (lost,) = update["degraded"]
    assert (lost["stage"], lost["failed"]) == ("build_sections", False)
    assert lost["reason"] in ("It does not answer.", "The encoder did not finish in time.")
    assert "have no sections" in lost["effect"]


async def test_a_bug_at_the_sections_and_a_failure_at_the_chunks_are_not_hidden() -> None:
    batch = await grouped(document("d", "one", "two"))
    with pytest.raises(ZeroDivisionError):
        await embed(IngestionState(batch=batch), embedder=Fake(ZeroDivisionError(), ("one", "two")))
    with pytest.raises(ModelUnavailable):
        await embed(
            IngestionState(batch=batch), embedder=Fake(ModelUnavailable("Gone."), ("one", ""))
        )


@pytest.mark.parametrize("field", ["node_group_size", "node_text_max_chars"])
def test_sizes_below_one_are_refused(field: str) -> None:
    with pytest.raises(ValidationError):
        Settings(**cast("Any", {field: 0}))
