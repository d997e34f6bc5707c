"""Chunks are exact slices under their headings that the encoder reads whole."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.models.sentences import sentence_starts
from clew.nodes.ingestion.split import split
from clew.settings import Settings
from clew.state import IngestionState
from clew.stores.records import ChunkDraft

from .stand_ins import WhitespaceEmbedder


def document(text: str, title: str = "Title", source: str = "a.md") -> Any:
    return {"key": source, "title": title, "source": source, "text": text}


async def chunked(
    text: str, window: int = 64, overlap: float = 0.2, **given: str
) -> list[ChunkDraft]:
    state: IngestionState = {"batch": [document(text, **given)]}
    limits = Settings(chunk_overlap=overlap)
    update = await split(state, embedder=WhitespaceEmbedder(window), settings=limits)
    return update["batch"][0]["chunks"]


PIECES = ["# H\n", "## K\n\n", "Some words here. ", "\n\n", "x" * 300, "```\n"]
WORDS = st.text(alphabet="ab éñ.!?,\n#-`*", min_size=0, max_size=40)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=40).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=TEXTS, window=st.integers(32, 90), overlap=st.floats(0, 0.8),
       title=st.text(max_size=150), source=st.sampled_from(["a.md", "a.txt"]))  # fmt: skip
async def test_chunks_are_slices_that_fit_cover_everything_and_go_forward(
    text: str, window: int, overlap: float, title: str, source: str
) -> None:
    embedder = WhitespaceEmbedder(window)
    chunks = await chunked(text, window, overlap, title=title, source=source)
    covered = [False] * len(text)
    for chunk in chunks:
        start, end = chunk["start"], chunk["start"] + len(chunk["text"])
        assert text[start:end] == chunk["text"]
        assert chunk["text"].strip()
        assert embedder.count_tokens(f"{chunk['header']}\n{chunk['text']}") + 2 <= window
        assert chunk["tokens"] == embedder.count_tokens(chunk["text"])
        covered[start:end] = [True] * (end - start)
    assert [chunk["index"] for chunk in chunks] == list(range(len(chunks)))
    starts = [chunk["start"] for chunk in chunks]
    assert starts == sorted(set(starts))
    left = "".join(char for at, char in enumerate(text) if not covered[at])
    headings = r"(?m)^ {0,3}(#{1,6}.*|.*\n {0,3}-+\s*)$" if source == "a.md" else r"(?!)"
    if source == "a.txt":
        assert not left.strip()
    elif chunks and not re.search(r"(?m)^ {0,3}-+\s*$", text):
        assert not re.sub(headings, "", left).strip()


async def test_consecutive_chunks_overlap_by_whole_sentences() -> None:
    text = " ".join(f"Sentence number {i} is here." for i in range(40))
    chunks = await chunked(text, overlap=0.25)
    assert len(chunks) > 3
    for one, other in pairwise(chunks):
        shared = one["start"] + len(one["text"]) - other["start"]
        assert 0 < shared <= len(one["text"]) // 2
        assert other["text"].startswith("Sentence")
        assert one["text"].endswith(".")


async def test_without_overlap_nothing_is_said_twice() -> None:
    text = " ".join(f"Sentence number {i} is here." for i in range(40))
    chunks = await chunked(text, overlap=0)
    assert " ".join(chunk["text"] for chunk in chunks) == text


async def test_whole_paragraphs_are_preferred() -> None:
    paragraph = "word " * 19 + "end."
    chunks = await chunked("\n\n".join([paragraph] * 4), overlap=0)
    assert [chunk["text"].count("end.") for chunk in chunks] == [2, 2]


async def test_headings_bound_chunks_and_stand_in_their_header() -> None:
    text = "# Title\n\nIntro.\n\n## A\n\n### Deep\n\nText.\n\n## B\n\n```\n# code\n```\n"
    chunks = await chunked(text)
    assert [(chunk["header"], chunk["headings"], chunk["text"]) for chunk in chunks] == [
        ("Title", [], "Intro."),
        ("Title > A > Deep", ["A", "Deep"], "Text."),
        ("Title > B", ["B"], "```\n# code\n```"),
    ]


async def test_underlined_headings_count() -> None:
    chunks = await chunked("Part\n====\n\nText.", title="Doc")
    assert [(chunk["header"], chunk["text"]) for chunk in chunks] == [("Doc > Part", "Text.")]


async def test_plain_text_has_no_headings() -> None:
    (chunk,) = await chunked("# Not a heading\n\nText.", source="a.txt")
    assert (chunk["header"], chunk["headings"]) == ("Title", [])


async def test_a_document_of_headings_alone_is_still_found() -> None:
    (chunk,) = await chunked("# Title\n\n## A\n")
    assert chunk["text"] == "# Title\n\n## A"


@pytest.mark.parametrize("title", ["word " * 500, "x" * 5000])
async def test_a_long_header_takes_a_third_at_most(title: str) -> None:
    (chunk,) = await chunked("Text.", window=66, title=title)
    assert 0 < WhitespaceEmbedder().count_tokens(chunk["header"]) <= 64 // 3


def test_initials_and_abbreviations_end_no_sentence() -> None:
    text = "Mr. J. Doe met St. Paul. Then he left! 好。再"
    assert [text[start:][:4] for start in sentence_starts(text)] == ["Mr. ", "Then", "好。再", "再"]
