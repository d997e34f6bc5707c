"""The cross-encoder reads less while it is slow, and the run says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import pytest
from langgraph.runtime import Runtime

from clew.graph.retrieval import STEPS
from clew.graph.steps import Step
from clew.models.embeddings import SentenceEmbedder
from clew.models.pace import SECONDS
from clew.models.reranker import Reranker
from clew.nodes.retrieval.rerank_passages import rerank_passages
from clew.services import Services
from clew.state import RetrievalState
from clew.tests.graph.scene import ask, giving, patient, world
from clew.tests.models.cross_encoder import (
    Clock,
    Slow,
    Stuck,
    loaded,
    paced,
    save_cross_encoder,
)

QUESTION = "Whom did Katherine Mansfield marry?"


@pytest.fixture(scope="module")
async def tiny(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reranker]:
    path = tmp_path_factory.mktemp("cross-encoder")
    save_cross_encoder(path)
    async with loaded(path) as reranker:
        yield reranker


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


def state(count: int) -> RetrievalState:
    """Passages 0, 1, 2 … in this order, as fusion left them."""
    words = ("murry", "woolf press", "mansfield born", "katherine", "virginia woolf writer")
    ranked = [
        {
            "passage": {"id": i, "header": words[i % 5], "text": words[(i // 5) % 5]},
            "stages": {"fused": {"rank": i + 1, "score": -float(i)}},
            "reranker": None,
        }
        for i in range(count)
    ]
    return cast("RetrievalState", {"request": {"question": "who did she marry"}, "ranked": ranked})


async def rerank(reranker: Reranker, count: int = 25, **fields: Any) -> RetrievalState:
    runtime = Runtime(context=patient(**{"rerank_ms": 200, **fields}))
    return await rerank_passages(state(count), runtime, reranker=reranker, seconds=60)


def read(update: RetrievalState) -> int:
    """How many passages have a score; the others stand behind them in their former order."""
    ranked = update.get("ranked", [])
    scored = [r for r in ranked if r["reranker"] is not None]
    assert ranked[: len(scored)] == scored
    assert [r["passage"]["id"] for r in ranked[len(scored) :]] == list(
        range(len(scored), len(ranked))
    )
    assert {r["passage"]["id"] for r in scored} == set(range(len(scored)))
    for place, entry in enumerate(ranked, start=1):
        stage = entry["stages"].get("cross_encoder")
        assert (stage["rank"] if stage else None) == (place if place <= len(scored) else None)
    return len(scored)


async def test_twenty_then_ten_then_none_then_twenty_again(tiny: Reranker) -> None:
    clock = Clock()
    slow = Slow(tiny, clock, lambda count: 250.0 if count == 20 else 150.0)
    reranker = paced(slow, clock)
    assert "degraded" not in await rerank(reranker)
    update = await rerank(reranker)
    assert read(update) == 10
    assert update["degraded"] == [
        {
            "stage": "rerank_passages",
            "reason": "Reading 20 passages took the cross-encoder 250 ms, which is more than "
            "200 ms.",
            "effect": "it read only the best 10 of 20",
            "failed": False,
        }
    ]
    slow.ms = lambda _: 300.0
    assert read(await rerank(reranker)) == 10
    none = await rerank(reranker)
    assert "ranked" not in none, "the former order stands"
    (entry,) = none["degraded"]
    assert entry["effect"] == "it was left out"
    assert "Reading 10 passages took the cross-encoder 300 ms" in entry["reason"]
    assert slow.read == [20, 10, 10]
    clock.now += SECONDS + 1
    slow.ms = lambda _: 30.0
    assert read(again := await rerank(reranker)) == 20
    assert "degraded" not in again
    reranker.close()


async def test_a_hurried_run_does_not_slow_a_patient_one_down(tiny: Reranker) -> None:
    clock = Clock()
    reranker = paced(Slow(tiny, clock, lambda _: 150.0), clock)
    await rerank(reranker)
    assert read(await rerank(reranker, rerank_ms=100)) == 10
    assert read(await rerank(reranker, rerank_ms=100)) == 0
    assert read(await rerank(reranker)) == 20
    reranker.close()


async def test_what_the_step_s_ceiling_would_cut_off_is_too_slow_as_well(tiny: Reranker) -> None:
    clock = Clock()
    reranker = paced(Slow(tiny, clock, lambda _: 800.0), clock)
    await rerank(reranker, rerank_ms=2000, search_ms=500)
    (entry,) = (await rerank(reranker, rerank_ms=2000, search_ms=500))["degraded"]
    assert entry["reason"].endswith("800 ms, which is more than 500 ms.")
    reranker.close()


async def test_fewer_passages_than_were_too_many_are_read_whole(tiny: Reranker) -> None:
    clock = Clock()
    reranker = paced(Slow(tiny, clock, lambda _: 250.0), clock)
    await rerank(reranker)
    update = await rerank(reranker, count=8)
    assert read(update) == 8
    assert "degraded" not in update, "nothing is missing"
    reranker.close()


async def test_a_reading_past_its_deadline_builds_no_queue_behind_it(
    services: Services, tiny: Reranker
) -> None:
    clock = Clock()
    stuck = Stuck(tiny, clock)
    reranker = paced(stuck, clock)
    (declared,) = [s for s in STEPS if s.name == "rerank_passages"]
    step = Step(rerank_passages, declared.effect, declared.ceiling).bind(
        giving(replace(services, reranker=reranker))
    )

    async def run(**fields: Any) -> dict[str, Any]:
        return await step(state(25), Runtime(context=patient(**fields)))

    cut = await run(search_ms=100)
    said = "The cross-encoder did not read 20 passages in 100 ms."
    assert cut["degraded"][0]["reason"] == said
    assert stuck.begun.is_set()
    clock.now += 1.0
    for update in await asyncio.gather(*(run(rerank_ms=200) for _ in range(100))):
        (entry,) = update["degraded"]
        assert entry["reason"] == (
            "The cross-encoder is still reading for another question, 1000 ms so far."
        )
        assert (entry["effect"], entry["failed"]) == ("it was left out", False)
    stuck.go.set()
    async with reranker.pace.turn:
        pass  # the reading that was cut off has ended
    assert stuck.read == [20]
    after = await run(rerank_ms=200)
    assert read(cast("RetrievalState", after)) == 10
    assert "took the cross-encoder 1000 ms" in after["degraded"][0]["reason"]
    reranker.close()


async def test_a_whole_run_says_what_the_cross_encoder_did_not_read(
    services: Services, tiny: Reranker
) -> None:
    clock = Clock()
    slow = Slow(tiny, clock, lambda _: 250.0)
    reranker = paced(slow, clock)
    slowed = replace(services, reranker=reranker)
    whole, half, none = [await ask(slowed, QUESTION, patient(rerank_ms=200)) for _ in range(3)]
    count = len(whole["ranked"])
    assert slow.read == [count, count // 2]
    assert whole["degraded"] == []
    assert [[e["stage"] for e in s["degraded"]] for s in (half, none)] == [["rerank_passages"]] * 2
    stages = [d.metadata["trail"]["stages"]["cross_encoder"] for d in half["documents"]]
    assert [stage is not None for stage in stages] == [n < count // 2 for n in range(count)]
    plain = await ask(services, QUESTION)
    assert [d.id for d in none["documents"]] == [d.id for d in plain["documents"]]
    reranker.close()


@pytest.mark.parametrize("count", [0, 25])
async def test_without_passages_or_when_turned_off_nothing_is_read(
    tiny: Reranker, count: int
) -> None:
    clock = Clock()
    slow = Slow(tiny, clock, lambda _: 0.0)
    reranker = paced(slow, clock)
    assert await rerank(reranker, count=count, rerank_candidates=0 if count else 20) == {}
    assert slow.read == []
    reranker.close()
