"""An optional cross-encoder that reads question and passage together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .embeddings import ModelUnavailable
from .pace import Pace

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

__all__ = ["Reading", "Reranker"]


class Reading(NamedTuple):
    """Scores of the first texts, in their order, and why not of all."""

    scores: list[float]
    lost: str | None


class Reranker:
    """A sentence-transformers cross-encoder in a thread of its own."""

    def __init__(self, model: CrossEncoder, name: str) -> None:
        self.name = name
        self._model = model
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clew-reranker")

    @classmethod
    async def open(cls, name: str) -> Reranker:
        """Load from a local folder or a hub name, off the event loop. Raises `ModelUnavailable`."""
        return await asyncio.to_thread(cls._load, name)

    @classmethod
    def _load(cls, name: str) -> Reranker:
        from sentence_transformers import CrossEncoder

        try:
            model = CrossEncoder(name, local_files_only=Path(name).exists())
        except (OSError, ValueError) as error:
            raise ModelUnavailable(
                f"The reranker {name!r} cannot be loaded ({error}); set CLEW_RERANKER_MODEL to a "
                "folder that holds a cross-encoder, or unset it."
            ) from error
        reranker = cls(model, name)
        # The first pair is slow; it should not be a question's, nor count as what a pair takes.
        reranker._predict("clew", ["clew"])
        return reranker

    @cached_property
    def pace(self) -> Pace:
        """Whose turn it is, and what this model lately had time for."""
        return Pace()

    async def read(self, question: str, texts: Sequence[str], *, ms: float) -> Reading:
        """Score as many of the first texts as lately took at most `ms`: all, half or none.

        Waits up to `ms` for its turn, and not at all while a reading is later than that. A caller
        that gives up leaves its reading behind, which cannot be stopped; until that ends nobody
        else has a turn, so at most one reading is ever in the thread.
        """
        if not await self._turn(ms):
            busy = "The cross-encoder is still reading for another question, {:.0f} ms so far."
            return Reading([], busy.format(self.pace.underway_ms))
        count, slow = self.pace.fitting(len(texts), ms)
        reading = asyncio.ensure_future(self.score(question, texts[:count]))
        reading.add_done_callback(lambda _: self.pace.turn.release())
        scores = await asyncio.shield(reading)
        lost = None
        if slow is not None:
            lost = (
                f"Reading {slow.texts} passages took the cross-encoder {slow.ms:.0f} ms, which is "
                f"more than {ms:.0f} ms."
            )
        return Reading(scores, lost)

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, in the order given; the scale is the model's own."""
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._measured, question, list(texts))

    def close(self) -> None:
        """Let the thread end once it is idle."""
        self._thread.shutdown(wait=False)

    async def _turn(self, ms: float) -> bool:
        """Whether it became the caller's turn in time."""
        if self.pace.underway_ms > ms:
            return False
        try:
            async with asyncio.timeout(ms / 1000):
                return await self.pace.turn.acquire()
        except TimeoutError:
            return False

    def _measured(self, question: str, texts: list[str]) -> list[float]:
        with self.pace.reading(len(texts)):
            return self._predict(question, texts)

    def _predict(self, question: str, texts: list[str]) -> list[float]:
        pairs = [(question, text) for text in texts]
        scores = self._model.predict(pairs, show_progress_bar=False, convert_to_numpy=True)
        return [float(score) for score in scores]
