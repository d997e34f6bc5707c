"""The encoder in its own thread: the same vectors for everyone, whoever else is asking."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from clew.models.embeddings import (
    MOST_WINDOWS,
    ModelUnavailable,
    SentenceEmbedder,
    Vector,
    pack,
    unpack,
)
from clew.settings import BUNDLED_MODEL
from clew.stores.cache import Cache

TEXTS = [f"Sentence {n} about {word}." for n, word in enumerate(["ships", "law", "rain"] * 5)]


@pytest.fixture
async def own() -> SentenceEmbedder:
    """An encoder whose cache no other test has touched."""
    return await SentenceEmbedder.open(BUNDLED_MODEL, batch=4)


async def test_vectors_are_unit_float32_rows_in_the_order_given(
    embedder: SentenceEmbedder,
) -> None:
    vectors = await embedder.embed(TEXTS)
    assert vectors.shape == (15, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(15), abs=1e-5)
    single = np.stack([(await embedder.embed([text]))[0] for text in TEXTS])
    assert np.abs(vectors - single).max() < 1e-5


async def test_near_meanings_have_near_vectors(embedder: SentenceEmbedder) -> None:
    cat, kitten, tax = await embedder.embed(["A cat sleeps.", "A kitten naps.", "Income tax law."])
    assert cat @ kitten > 0.5 > 0.3 > cat @ tax


async def test_no_texts_are_no_rows(embedder: SentenceEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimension)


async def test_what_lies_beyond_the_256th_token_is_not_read(embedder: SentenceEmbedder) -> None:
    assert embedder.max_tokens == 256
    body = "word " * 254
    assert embedder.count_tokens(body) == 254
    whole, longer, shorter = await embedder.embed(
        [body, body + "dolphin volcano", "word " * 253 + "dolphin"]
    )
    assert whole @ longer == pytest.approx(1.0, abs=1e-4)
    assert whole @ shorter < 0.9999


def test_packing_keeps_a_vector_up_to_half_precision() -> None:
    vector = np.random.default_rng(1).standard_normal(384).astype(np.float32)
    vector /= np.linalg.norm(vector)
    text = pack(vector)
    assert len(text) == 384 * 2 * 4 // 3
    back = unpack(text)
    assert back.dtype == np.float32
    assert np.abs(back - vector).max() < 2**-11
    assert pack(back) == text
    assert unpack("AAAAPAC8").tolist() == [0.0, 1.0, -1.0]


async def test_a_question_is_encoded_once_and_remembered(
    own: SentenceEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "questions", Cache[Vector]("questions", 2))
    encoded: list[str] = []
    encode = own._encode

    def noting(texts: list[str]) -> Vector:
        encoded.extend(texts)
        return encode(texts)

    monkeypatch.setattr(own, "_encode", noting)
    first = await own.embed_question("one")
    assert await own.embed_question("one") is first
    assert np.abs((await own.embed(["one"]))[0] - first).max() < 1e-6
    encoded.clear()
    for question in ("two", "one", "three", "one", "two"):
        await own.embed_question(question)
    assert encoded == ["two", "three", "two"], "what was asked longest ago is forgotten first"


async def test_a_text_longer_than_the_encoder_reads_is_the_mean_of_its_windows(
    embedder: SentenceEmbedder,
) -> None:
    sea = "The ship sailed over the ocean. " * 60
    bread = "The baker kneads dough with yeast. " * 60
    assert embedder.count_tokens(sea) > embedder.max_tokens
    vector = await embedder.embed_question(sea + bread)
    ship, baker, law = await embedder.embed(
        ["a ship on the ocean", "a baker and his dough", "income tax law"]
    )
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    # What is cut off when the text is read once counts as much as what comes first.
    (first,) = await embedder.embed([sea + bread])
    assert first @ baker < 0.2 < vector @ baker
    assert vector @ ship > 0.2 > vector @ law


async def test_the_windows_of_a_text_are_read_whole_and_lie_evenly_over_it(
    embedder: SentenceEmbedder,
) -> None:
    most = embedder.max_tokens - 2
    for words in (1, most, most + 1, 2 * most, 3 * most + 7):
        # Each Chinese character is a token of its own.
        text = "".join(map(chr, range(0x4E00, 0x4E00 + words)))
        windows = embedder._windows(text)
        assert all(embedder.count_tokens(window) <= most for window in windows)
        assert {*"".join(windows)} == {*text}, "nothing is left out"
    windows = embedder._windows(" ".join(["begin", *["word"] * 50_000, "end"]))
    assert len(windows) == MOST_WINDOWS
    assert windows[0].startswith("begin")
    assert windows[-1].endswith("end")


async def test_a_short_text_has_the_vector_it_has_by_itself(embedder: SentenceEmbedder) -> None:
    (alone,) = await embedder.embed(["Where was she born?"])
    assert (await embedder.embed_question("Where was she born?")).tolist() == alone.tolist()


async def test_token_spans_cover_the_words_where_they_stand(embedder: SentenceEmbedder) -> None:
    text = "Kafka's  Königsberg—unbelievably, <b>10.5</b>\n世界"
    spans = embedder.token_spans(text)
    assert embedder.count_tokens(text) == len(spans)
    pieces = [text[start:end] for start, end in spans]
    assert all(piece and not piece.isspace() for piece in pieces)
    assert "".join(pieces) == "".join(text.split())
    assert spans == sorted(spans)
    assert embedder.token_spans("") == []


async def test_a_long_text_is_counted_whole(embedder: SentenceEmbedder) -> None:
    assert embedder.count_tokens("word " * 2000) == 2000


async def test_counting_in_other_threads_and_encoding_do_not_disturb_each_other(
    embedder: SentenceEmbedder,
) -> None:
    long = "word " * 300
    vectors = await embedder.embed(TEXTS)
    spans = embedder.token_spans(long)
    stop = threading.Event()

    def count() -> int:
        rounds = 0
        while not stop.is_set():
            assert embedder.token_spans(long) == spans
            rounds += 1
        return rounds

    with ThreadPoolExecutor(1) as pool:
        counting = [pool.submit(count) for _ in range(1)]
        for _ in range(3):
            some = await asyncio.gather(*(embedder.embed(TEXTS) for _ in range(2)))
            assert all(np.abs(one - vectors).max() < 1e-5 for one in some)
        stop.set()
        assert all(done.result() > 0 for done in counting)


async def test_encoding_leaves_the_event_loop_free(embedder: SentenceEmbedder) -> None:
    ticks = 0
    encoding = asyncio.create_task(embedder.embed(["some words to encode " * 40] * 24))
    while not encoding.done():
        await asyncio.sleep(0.001)
        ticks += 1
    assert ticks > 10


@pytest.mark.parametrize("kind", ["missing", "empty"])
async def test_a_model_that_cannot_be_loaded_says_what_to_set(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "model"
    if kind == "empty":
        folder.mkdir()
    with pytest.raises(ModelUnavailable, match="CLEW_EMBEDDING_MODEL"):
        await SentenceEmbedder.open(str(folder), batch=4)
