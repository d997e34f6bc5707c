"""The cross-encoder, in the process: every fault, and the order that then stands."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from clew.models.embeddings import SentenceEmbedder
from clew.models.reranker import Reranker
from clew.services import Services
from clew.tests.graph.scene import world
from clew.tests.models.cross_encoder import Clock, loaded, paced, save_cross_encoder
from clew.tests.timing import best_of_three

from .runs import asking

Scores = Callable[[int], Any]


def raises(_: int) -> Any:
    raise RuntimeError("CUDA error: out of memory\n  at cuda.cu:77")


FAULTS: dict[str, tuple[Scores, str]] = {
    "raising": (raises, r"failed \(RuntimeError\)"),
    "too few scores": (lambda count: np.zeros(count - 1), "one finite number"),
    "too many scores": (lambda count: np.zeros(count + 1), "one finite number"),
    "no numbers": (lambda count: np.full(count, math.nan), "one finite number"),
    "infinite": (lambda count: np.full(count, math.inf), "one finite number"),
    "several labels": (lambda count: np.zeros((count, 3)), "failed"),
    "none": (lambda _: None, "failed"),
}
"""What it gives for so many passages, and what the answer says of that."""


@dataclass
class Model:
    """A real model until it is broken; `hung` while it does not end."""

    real: Any
    broken: Scores | None = None
    asked: int = 0

    def __post_init__(self) -> None:
        self.flowing = threading.Event()
        self.flowing.set()

    def predict(self, pairs: list[tuple[str, str]], **how: Any) -> Any:
        self.asked += 1
        assert self.flowing.wait(60)
        return self.broken(len(pairs)) if self.broken else self.real.predict(pairs, **how)


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


@pytest.fixture(scope="module")
async def tiny(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Reranker]:
    path = tmp_path_factory.mktemp("cross-encoder")
    save_cross_encoder(path)
    async with loaded(path) as reranker:
        yield reranker


@pytest.mark.parametrize("fault", FAULTS)
@best_of_three
async def test_the_former_order_stands(services: Services, tiny: Reranker, fault: str) -> None:
    """Three failures open the circuit, and the trial after half a minute closes it."""
    clock, model = Clock(), Model(tiny._model)
    reranker = paced(model, clock)
    ask = asking(replace(services, reranker=reranker))
    plain, whole = await asking(services)(), await ask()
    assert whole.lost == {}
    assert whole.found != plain.found, "the cross-encoder has a say"
    model.broken, why = FAULTS[fault]
    for _ in range(3):
        without = await ask()
        assert (without.found, without.failed) == (plain.found, {"rerank_passages"})
        assert re.search(why, without.lost["rerank_passages"])
    assert reranker.breaker.changes == {"open": 1}
    asked = model.asked
    shut = await ask()
    assert shut.found == plain.found
    assert "circuit of the reranker" in shut.lost["rerank_passages"]
    assert model.asked == asked
    model.broken = None
    clock.now += 30
    again = await ask()
    assert (again.found, again.lost, model.asked) == (whole.found, {}, asked + 1)
    assert reranker.breaker.changes == {"open": 1, "half_open": 1, "closed": 1}
    reranker.close()


@best_of_three
async def test_a_model_that_hangs_is_given_up_at_the_ceiling_and_then_left_alone(
    services: Services, tiny: Reranker
) -> None:
    clock, model = Clock(), Model(tiny._model)
    reranker = paced(model, clock)
    ask = asking(replace(services, reranker=reranker), search_ms=300)
    plain, whole = await asking(services)(), await ask()
    model.flowing.clear()
    given_up = await ask()
    assert given_up.found == plain.found
    assert "did not read" in given_up.lost["rerank_passages"]
    clock.now += 1
    for _ in range(2):
        without = await ask()
        assert without.found == plain.found
        assert "still reading" in without.lost["rerank_passages"]
    assert reranker.breaker.changes == {"open": 1}
    clock.now += 30
    trial, shut = await ask(), await ask()
    assert "still reading" in trial.lost["rerank_passages"]
    assert "circuit of the reranker" in shut.lost["rerank_passages"]
    assert reranker.breaker.changes == {"open": 2, "half_open": 1}
    assert model.asked == 2, "nobody's reading was begun behind the one that hangs"
    model.flowing.set()
    async with reranker.pace.turn:
        pass  # the reading that was left behind has ended
    clock.now += 31
    again = await ask()
    assert (again.found, again.lost) == (whole.found, {})
    reranker.close()


async def test_a_slow_model_reads_half_then_none_then_all_and_never_counts_as_failing(
    services: Services, tiny: Reranker
) -> None:
    clock, model = Clock(), Model(tiny._model)

    def slowly(count: int) -> Any:
        clock.now += 0.25
        return np.arange(count, dtype=float)

    reranker = paced(model, clock)
    ask = asking(replace(services, reranker=reranker))
    model.broken = slowly
    for reason in (None, "Reading 5 passages took", "Reading 2 passages took"):
        lost = (await ask()).lost
        assert set(lost) == ({"rerank_passages"} if reason else set())
        assert reason is None or reason in lost["rerank_passages"]
    clock.now += 31
    assert (await ask()).lost == {}
    assert (model.asked, reranker.breaker.changes) == (3, {})
    reranker.close()
