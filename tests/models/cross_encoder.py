"""A cross-encoder made on the spot, and ways to make it slow on a clock that tests turn."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from clew.models.embeddings import ModelUnavailable
from clew.models.pace import Pace
from clew.models.reranker import Reranker
from clew.stores.breaker import Breaker

__all__ = ["Clock", "Slow", "Stuck", "loaded", "paced", "reranker_breaker", "save_cross_encoder"]

WORDS = (
    "who", "did", "she", "marry", "murry", "mansfield", "woolf", "writer", "press", "born",
    "london", "katherine", "virginia",
)  # fmt: skip


def save_cross_encoder(path: Path) -> None:
    """Two small layers with random weights that are the same each time."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (path / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    torch.manual_seed(3)
    config = BertConfig(  # type: ignore[call-arg]  # fields of its base class

        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, num_labels=1, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(path)
    BertTokenizer(str(path / "vocab.txt"), model_max_length=64).save_pretrained(path)


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """The same model, whose readings take `ms(count)` on the clock; `read` notes the counts."""

    def __init__(self, reranker: Reranker, clock: Clock, ms: Callable[[int], float]) -> None:
        self._model, self._clock, self.ms = reranker._model, clock, ms
        self.read: list[int] = []

    def predict(self, pairs: list[tuple[str, str]], **how: Any) -> Any:
        self.read.append(len(pairs))
        scores = self._model.predict(pairs, **how)
        self._clock.now += self.ms(len(pairs)) / 1000
        return scores


class Stuck(Slow):
    """It begins to read and goes on until `go` is set."""

    def __init__(self, reranker: Reranker, clock: Clock) -> None:
        super().__init__(reranker, clock, lambda _: 0.0)
        self.begun, self.go = threading.Event(), threading.Event()

    def predict(self, pairs: list[tuple[str, str]], **how: Any) -> Any:
        self.begun.set()
        assert self.go.wait(60)
        return super().predict(pairs, **how)


def reranker_breaker(clock: Callable[[], float] = time.monotonic) -> Breaker:
    return Breaker("reranker", failures=(ModelUnavailable,), clock=clock)


@asynccontextmanager
async def loaded(folder: Path) -> AsyncIterator[Reranker]:
    """The reranker of a folder, as a user would load it."""
    reranker = await Reranker.open(str(folder), breaker=reranker_breaker())
    yield reranker
    reranker.close()


def paced(model: Any, clock: Clock) -> Reranker:
    """A reranker around a slow model, on its clock."""
    reranker = Reranker(model, "tiny", breaker=reranker_breaker(clock))
    reranker.pace = Pace(clock=clock)
    return reranker
