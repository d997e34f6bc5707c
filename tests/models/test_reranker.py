"""A tiny cross-encoder, built and saved here, loaded from its folder as a user's would be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew.models.embeddings import ModelUnavailable, SentenceEmbedder
from clew.models.reranker import Reranker
from clew.services import Services
from clew.tests.graph.scene import ask, patient, world

from .cross_encoder import (
    Clock,
    Slow,
    Stuck,
    loaded,
    paced,
    reranker_breaker,
    save_cross_encoder,
)

TEXTS = ["murry", "woolf press", "mansfield born london writer", "katherine", "virginia woolf"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cross-encoder")
    save_cross_encoder(path)
    return path


@pytest.fixture(scope="module")
async def reranker(folder: Path) -> AsyncIterator[Reranker]:
    async with loaded(folder) as tiny:
        yield tiny


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


async def test_opening_reads_one_pair_which_does_not_count_as_what_a_pair_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sentence_transformers import CrossEncoder

    read: list[int] = []
    predict = CrossEncoder.predict

    def noted(self: CrossEncoder, inputs: list[Any], **how: Any) -> Any:
        read.append(len(inputs))
        return predict(self, inputs, **how)

    monkeypatch.setattr(CrossEncoder, "predict", noted)
    opened = await Reranker.open(str(folder), breaker=reranker_breaker())
    assert read == [1]
    assert opened.pace.fitting(1, 0.0) == (1, None)
    await opened.read("who", TEXTS, ms=60_000, seconds=60)
    assert read == [1, len(TEXTS)]
    count, slow = opened.pace.fitting(len(TEXTS), 0.0)
    assert slow is not None
    assert (count, slow.texts) == (len(TEXTS) // 2, len(TEXTS)), "this reading counts"
    opened.close()


async def test_a_slow_reading_counts_and_the_next_reads_half_then_nothing(
    reranker: Reranker,
) -> None:
    clock = Clock()
    slow = Slow(reranker, clock, lambda count: 60.0 * count)
    cautious = paced(slow, clock)
    expected = await reranker.score("who", TEXTS)
    first = await cautious.read("who", TEXTS, ms=100, seconds=60)
    assert first.scores == pytest.approx(expected, abs=1e-5)
    assert first.lost is None, "it was paid for, so it counts"
    second = await cautious.read("who", TEXTS, ms=100, seconds=60)
    assert second.scores == pytest.approx(expected[:2], abs=1e-5)
    assert second.lost == (
        "Reading 5 passages took the cross-encoder 300 ms, which is more than 100 ms."
    )
    third = await cautious.read("who", TEXTS, ms=100, seconds=60)
    assert third == (
        [],
        "Reading 2 passages took the cross-encoder 120 ms, which is more than 100 ms.",
    )
    assert slow.read == [5, 2]
    cautious.close()


async def test_many_callers_take_turns_and_one_at_a_time_is_in_the_thread(
    reranker: Reranker,
) -> None:
    expected = await reranker.score("who", TEXTS)
    readings = await asyncio.gather(
        *(reranker.read("who", TEXTS, ms=60_000, seconds=60) for _ in range(20))
    )
    assert all(scores == pytest.approx(expected, abs=1e-5) for scores, _ in readings)
    assert {lost for _, lost in readings} == {None}
    assert not reranker.pace.turn.locked()


async def test_callers_that_gave_up_leave_no_queue_behind(reranker: Reranker) -> None:
    clock = Clock()
    stuck = Stuck(reranker, clock)
    late = paced(stuck, clock)
    first = asyncio.create_task(late.read("who", TEXTS, ms=100, seconds=60))
    await asyncio.to_thread(stuck.begun.wait)
    waiting = [
        asyncio.create_task(late.read("who", TEXTS, ms=60_000, seconds=60)) for _ in range(50)
    ]
    hasty = await late.read("who", TEXTS, ms=10, seconds=60)
    assert hasty.scores == [], "it waited for its turn as long as it may read"
    for task in (first, *waiting):
        task.cancel()
    assert all(
        isinstance(end, asyncio.CancelledError)
        for end in await asyncio.gather(first, *waiting, return_exceptions=True)
    )
    clock.now += 100
    async with asyncio.timeout(30):  # whoever waited for a turn would wait for a minute
        others = await asyncio.gather(
            *(late.read("who", TEXTS, ms=60_000, seconds=1000) for _ in range(50))
        )
    said = "The cross-encoder is still reading for another question, 100000 ms so far."
    assert others == [([], said)] * 50
    assert late._thread._work_queue.qsize() == 0
    stuck.go.set()
    async with late.pace.turn:
        pass  # the reading that was left behind has ended
    assert stuck.read == [len(TEXTS)], "nobody else's was begun or is waiting"
    scores, lost = await late.read("who", TEXTS, ms=60_000, seconds=60)
    assert lost is not None
    assert "took the cross-encoder 100000 ms" in lost
    assert len(scores) == len(TEXTS) // 2, "what was left behind counts as slow"
    late.close()


async def test_a_model_that_is_not_there_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="CLEW_RERANKER_MODEL"):
        await Reranker.check(str(tmp_path))


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
    stages = [d.metadata["trail"]["stages"]["cross_encoder"] for d in state["documents"]]
    assert [s["rank"] for s in stages] == [d.metadata["rank"] for d in state["documents"]]
    assert [s["score"] for s in stages] == pytest.approx(scores, abs=1e-6)


async def test_only_the_best_are_read_and_the_rest_keep_their_places(services: Services) -> None:
    question = "Whom did Katherine Mansfield marry?"
    plain = await ask(services, question, patient(rerank_candidates=0))
    assert [r["reranker"] for r in plain["ranked"]] == [None] * len(plain["ranked"])
    some = await ask(services, question, patient(rerank_candidates=2))
    before, after = ([r["passage"]["id"] for r in state["ranked"]] for state in (plain, some))
    assert set(before[:2]) == set(after[:2])
    assert before[2:] == after[2:]
    assert [r["reranker"] is None for r in some["ranked"]] == [False, False, True, True, True]
