"""A tiny cross-encoder, built and saved here, loaded from its folder as a user's would be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from clew.models.embeddings import ModelUnavailable, SentenceEmbedder
from clew.models.reranker import Reranker
from clew.services import Services
from clew.tests.graph.scene import ask, patient, world

WORDS = (
    "who", "did", "she", "marry", "murry", "mansfield", "woolf", "writer", "press", "born",
    "london", "katherine", "virginia",
)  # fmt: skip
TEXTS = ["murry", "woolf press", "mansfield born london writer", "katherine", "virginia woolf"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    path = tmp_path_factory.mktemp("cross-encoder")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (path / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    torch.manual_seed(3)
    config = BertConfig(  # type: ignore[call-arg]  # fields of its base class

        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, num_labels=1, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(path)
    BertTokenizer(str(path / "vocab.txt"), model_max_length=64).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
async def reranker(folder: Path) -> AsyncIterator[Reranker]:
    opened = await Reranker.open(str(folder))
    yield opened
    opened.close()


async def test_a_batch_scores_as_each_text_alone(reranker: Reranker) -> None:
    together = await reranker.score("who did she marry", TEXTS)
    alone = [(await reranker.score("who did she marry", [text]))[0] for text in TEXTS]
    assert together == pytest.approx(alone, abs=1e-5)
    assert len(set(together)) == len(TEXTS), "the model tells these texts apart"
    turned = await reranker.score("who did she marry", TEXTS[::-1])
    assert turned[::-1] == pytest.approx(together, abs=1e-5)


async def test_question_and_text_are_read_together(reranker: Reranker) -> None:
    one = await reranker.score("who did she marry", TEXTS)
    other = await reranker.score("katherine mansfield", TEXTS)
    assert one != pytest.approx(other, abs=1e-3)


async def test_nothing_to_score_is_no_trouble(reranker: Reranker) -> None:
    assert await reranker.score("who", []) == []


async def test_scoring_leaves_the_event_loop_free_and_callers_take_turns(
    reranker: Reranker,
) -> None:
    expected = await reranker.score("who", TEXTS)
    answers = await asyncio.gather(*(reranker.score("who", TEXTS) for _ in range(10)))
    assert all(answer == pytest.approx(expected, abs=1e-5) for answer in answers)


async def test_a_model_that_is_not_there_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="CLEW_RERANKER_MODEL"):
        await Reranker.open(str(tmp_path))


@pytest.fixture(scope="module")
async def services(
    template: str, embedder: SentenceEmbedder, reranker: Reranker
) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield replace(opened, reranker=reranker)


async def test_the_answer_is_in_the_order_of_its_scores(
    services: Services, reranker: Reranker
) -> None:
    question = "Whom did Katherine Mansfield marry?"
    state = await ask(services, question, patient(top_k=5))
    texts = [f"{r['passage']['header']}\n{r['passage']['text']}" for r in state["ranked"]]
    scores = [r["reranker"] for r in state["ranked"]]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx(await reranker.score(question, texts), abs=1e-5)
    trails = [d.metadata["trail"]["reranker"] for d in state["documents"]]
    assert trails == scores


async def test_only_the_best_are_read_and_the_rest_keep_their_places(services: Services) -> None:
    question = "Whom did Katherine Mansfield marry?"
    plain = await ask(services, question, patient(rerank_candidates=0))
    assert [r["reranker"] for r in plain["ranked"]] == [None] * len(plain["ranked"])
    some = await ask(services, question, patient(rerank_candidates=2))
    before, after = ([r["passage"]["id"] for r in state["ranked"]] for state in (plain, some))
    assert set(before[:2]) == set(after[:2])
    assert before[2:] == after[2:]
    assert [r["reranker"] is None for r in some["ranked"]] == [False, False, True, True, True]
