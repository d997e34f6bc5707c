"""When the cross-encoder fails, hangs or is merely slow, and what its breaker makes of that."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from clew.models.embeddings import ModelUnavailable
from clew.models.pace import Took
from clew.models.reranker import Reading, Reranker
from clew.stores.breaker import CircuitOpen

from .cross_encoder import Clock, Slow, Stuck, loaded, paced, save_cross_encoder

TEXTS = ["murry", "woolf press", "mansfield born london writer", "katherine", "virginia woolf"]


@pytest.fixture(scope="module")
async def reranker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reranker]:
    folder = tmp_path_factory.mktemp("cross-encoder")
    save_cross_encoder(folder)
    async with loaded(folder) as tiny:
        yield tiny


def breaks(_: int) -> float:
    raise RuntimeError("out of memory\nat 0x7f")


async def fails(reranker: Reranker, *, seconds: float = 60) -> str:
    """Why the reading failed: one sentence."""
    with pytest.raises(ModelUnavailable) as told:
        await reranker.read("who", TEXTS, ms=10, seconds=seconds)
    assert str(told.value).endswith(".")
    assert "\n" not in str(told.value)
    return str(told.value)


async def test_a_reading_that_fails_gives_its_turn_back_and_says_nothing_about_time(
    reranker: Reranker,
) -> None:
    clock = Clock()
    broken = Slow(reranker, clock, breaks)
    cautious = paced(broken, clock)
    assert await fails(cautious) == "The cross-encoder failed (RuntimeError)."
    broken.ms = lambda _: 0.0
    scores, lost = await cautious.read("who", TEXTS, ms=100, seconds=60)
    assert (len(scores), lost) == (len(TEXTS), None)
    cautious.close()


@pytest.mark.parametrize(
    "scores",
    [[0.5] * 4, [0.5] * 6, [0.5, 0.5, math.nan, 0.5, 0.5], [math.inf] * 5, [[0.1, 0.9]] * 5],
    ids=["too few", "too many", "not a number", "infinite", "several labels"],
)
async def test_scores_that_order_nothing_are_no_reading(
    reranker: Reranker, scores: list[Any]
) -> None:
    class Odd(Slow):
        def predict(self, pairs: list[tuple[str, str]], **how: Any) -> Any:
            return np.array(scores)

    clock = Clock()
    odd = paced(Odd(reranker, clock, lambda _: 0.0), clock)
    for _ in range(3):
        assert "cross-encoder" in await fails(odd)
    assert odd.breaker.state == "open"
    odd.close()


async def test_three_failures_in_a_row_open_the_circuit_and_one_trial_closes_it(
    reranker: Reranker,
) -> None:
    clock = Clock()
    broken = Slow(reranker, clock, breaks)
    guarded = paced(broken, clock)
    for _ in range(2):
        await fails(guarded)
        await fails(guarded)
        broken.ms = lambda _: 0.0
        await guarded.read("who", TEXTS, ms=10, seconds=60)
        broken.ms = breaks
    for _ in range(3):
        await fails(guarded)
    broken.read.clear()
    for _ in range(20):
        with pytest.raises(CircuitOpen, match="circuit of the reranker"):
            await guarded.read("who", TEXTS, ms=10, seconds=60)
    assert not broken.read
    clock.now += 30
    await fails(guarded)
    assert (broken.read, guarded.breaker.state) == ([len(TEXTS)], "open")
    clock.now += 30
    broken.ms = lambda _: 0.0
    readings = await asyncio.gather(
        *(guarded.read("who", TEXTS, ms=10, seconds=60) for _ in range(16)),
        return_exceptions=True,
    )
    assert [type(reading) for reading in readings] == [Reading, *[CircuitOpen] * 15]
    assert (len(broken.read), guarded.breaker.state) == (2, "closed")
    guarded.close()


async def test_a_reading_that_never_ends_opens_the_circuit_until_it_does(
    reranker: Reranker,
) -> None:
    clock = Clock()
    stuck = Stuck(reranker, clock)
    hung = paced(stuck, clock)
    assert await fails(hung, seconds=0.05) == "The cross-encoder did not read 5 passages in 50 ms."
    clock.now += 0.06
    for _ in range(2):
        said = await fails(hung, seconds=0.05)
        assert said == "The cross-encoder is still reading for another question, 60 ms so far."
    assert hung.breaker.state == "open"
    clock.now += 30
    assert "30060 ms so far" in await fails(hung, seconds=0.05), "the trial fails without waiting"
    with pytest.raises(CircuitOpen):
        await hung.read("who", TEXTS, ms=10, seconds=60)
    stuck.go.set()
    async with hung.pace.turn:
        pass  # it has ended after all
    clock.now += 30
    scores, lost = await hung.read("who", TEXTS, ms=10, seconds=60)
    assert (len(scores), lost, hung.breaker.state) == (len(TEXTS), None, "closed")
    assert stuck.read == [len(TEXTS)] * 2
    hung.close()


async def test_slow_and_busy_are_no_failures_and_close_no_circuit(reranker: Reranker) -> None:
    clock = Clock()
    slow = Slow(reranker, clock, lambda _: 60.0)
    unhurried = paced(slow, clock)
    for _ in range(8):
        await unhurried.read("who", TEXTS, ms=50, seconds=60)
    assert (slow.read, unhurried.breaker.state) == ([5, 2], "closed")
    slow.ms = breaks
    clock.now += 31
    for _ in range(3):
        await fails(unhurried)
    clock.now += 31
    took = Took(len(TEXTS) // 2, 60.0, clock.now)
    unhurried.pace._took = {took.texts: took}
    assert not (await unhurried.read("who", TEXTS, ms=50, seconds=60)).scores
    assert unhurried.breaker.state == "half_open", "nothing was tried"
    unhurried.close()


async def test_a_caller_who_has_no_time_may_give_up_as_often_as_it_likes(
    reranker: Reranker,
) -> None:
    clock = Clock()
    stuck = Stuck(reranker, clock)
    hung = paced(stuck, clock)
    for _ in range(5):
        scores, lost = await hung.read("who", TEXTS, ms=200, seconds=0.01)
        assert not scores
        assert lost is not None
        clock.now += 0.1
    assert hung.breaker.state == "closed"
    stuck.go.set()
    hung.close()


async def test_a_cancelled_reading_counts_for_nothing_and_gives_its_permit_back(
    reranker: Reranker,
) -> None:
    clock = Clock()
    stuck = Stuck(reranker, clock)
    tried = paced(stuck, clock)
    tried.breaker._opened = clock.now - 30
    trial = asyncio.create_task(tried.read("who", TEXTS, ms=10, seconds=60))
    await asyncio.to_thread(stuck.begun.wait)
    with pytest.raises(CircuitOpen):
        await tried.read("who", TEXTS, ms=10, seconds=60)
    trial.cancel()
    await asyncio.gather(trial, return_exceptions=True)
    assert trial.cancelled()
    assert tried.breaker.changes == {"half_open": 1}
    stuck.go.set()
    async with tried.pace.turn:
        pass  # the reading that was left behind has ended
    assert (await tried.read("who", TEXTS, ms=10, seconds=60)).scores
    assert tried.breaker.changes == {"half_open": 2, "closed": 1}
    tried.close()
