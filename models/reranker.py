"""An optional cross-encoder that reads question and passage together."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..stores.breaker import Breaker
from .embeddings import ModelUnavailable
from .pace import Pace

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

__all__ = ["Reading", "Reranker", "reading_key"]


class Reading(NamedTuple):
    """Scores of the first texts, in their order, and why not of all."""

    scores: list[float]
    lost: str | None


class _LeftOut(Exception):
    """Nothing was read, for a reason that says nothing about the model; the text is for people."""


class _Caller(NamedTuple):
    """Who wants a reading of `ms` at most, and has `seconds` for it all since `begun`."""

    ms: float
    seconds: float
    begun: float

    @property
    def left_ms(self) -> float:
        return 1000 * (self.begun + self.seconds - time.monotonic())

    def gives_up(self, why: str) -> Exception:
        """A failure of the model, unless the caller was in too much of a hurry to tell."""
        return _LeftOut(why) if self.seconds < self.ms / 1000 else ModelUnavailable(why)


class Reranker:
    """A sentence-transformers cross-encoder in a thread of its own, behind a breaker."""

    def __init__(self, model: CrossEncoder, name: str, *, breaker: Breaker) -> None:
        self.name = name
        self.breaker = breaker
        self._model = model
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clew-reranker")

    @classmethod
    async def open(cls, name: str, *, breaker: Breaker) -> Reranker:
        """Load from a local folder or a hub name, off the event loop. Raises `ModelUnavailable`."""
        return cls(await asyncio.to_thread(_load, name), name, breaker=breaker)

    @staticmethod
    async def check(name: str) -> None:
        """Make sure that it can be loaded and reads. Raises `ModelUnavailable`."""
        await asyncio.to_thread(_load, name)

    @cached_property
    def pace(self) -> Pace:
        """Whose turn it is, and what this model lately had time for."""
        return Pace()

    async def read(
        self, question: str, texts: Sequence[str], *, ms: float, seconds: float
    ) -> Reading:
        """Score as many of the first texts as lately took at most `ms`: all, half or none.

        Waits up to `ms` for its turn, and not at all while a reading is later than that. After
        `seconds` it gives up; its reading, which cannot be stopped, is left behind, and until that
        ends nobody else has a turn, so at most one reading is ever in the thread.

        Raises `ModelUnavailable` when the model fails or is given up, which the breaker counts, and
        `CircuitOpen`. Being slow or busy is no failure, nor is giving up in less than `ms`.
        """
        caller = _Caller(ms, seconds, time.monotonic())
        try:
            async with self.breaker.call():
                await self._turn(caller)
                count, lost = self._fitting(len(texts), min(ms, caller.left_ms))
                return Reading(await self._scores(question, texts[:count], caller), lost)
        except _LeftOut as why:
            return Reading([], str(why))

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, in the order given; the scale is the model's own.

        Raises `ModelUnavailable` when it fails, or does not give one finite number a text.
        """
        if not texts:
            return []
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._measured, question, list(texts))

    def close(self) -> None:
        """Let the thread end once it is idle."""
        self._thread.shutdown(wait=False)

    async def _turn(self, caller: _Caller) -> None:
        """Wait until it is the caller's turn. Raises when it will not be in time."""
        limit = min(caller.ms, caller.left_ms)
        if self.pace.underway_ms <= limit:
            with suppress(TimeoutError):
                async with asyncio.timeout(limit / 1000):
                    await self.pace.turn.acquire()
                    return
        underway = self.pace.underway_ms
        busy = f"The cross-encoder is still reading for another question, {underway:.0f} ms so far."
        # It has lasted longer than the caller would have waited for a reading of its own.
        raise caller.gives_up(busy) if underway > 1000 * caller.seconds else _LeftOut(busy)

    def _fitting(self, count: int, ms: float) -> tuple[int, str | None]:
        """How many of the texts to read, now that it is our turn, and why not all."""
        fits, slow = self.pace.fitting(count, ms)
        if slow is None:
            return fits, None
        lost = (
            f"Reading {slow.texts} passages took the cross-encoder {slow.ms:.0f} ms, which is "
            f"more than {ms:.0f} ms."
        )
        if not fits:
            self.pace.turn.release()
            raise _LeftOut(lost)
        return fits, lost

    async def _scores(self, question: str, texts: Sequence[str], caller: _Caller) -> list[float]:
        """Who gives up leaves the turn to the reading, until that ends."""
        left = caller.left_ms
        reading = asyncio.ensure_future(self.score(question, texts))
        reading.add_done_callback(self._ended)
        try:
            async with asyncio.timeout(left / 1000):
                return await asyncio.shield(reading)
        except TimeoutError as error:
            late = f"The cross-encoder did not read {len(texts)} passages in {left:.0f} ms."
            raise caller.gives_up(late) from error

    def _ended(self, reading: asyncio.Future[list[float]]) -> None:
        self.pace.turn.release()
        if not reading.cancelled():
            reading.exception()  # seen, in case whoever asked has given up

    def _measured(self, question: str, texts: list[str]) -> list[float]:
        with self.pace.reading(len(texts)):
            return _predict(self._model, question, texts)


def reading_key(question: str, texts: Sequence[str]) -> str:
    """What tells one reading from another: its question and its texts, in their order."""
    return hashlib.sha256(json.dumps([question, *texts]).encode()).hexdigest()


def _load(name: str) -> CrossEncoder:
    from sentence_transformers import CrossEncoder

    try:
        model: CrossEncoder = CrossEncoder(name, local_files_only=Path(name).exists())
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"The reranker {name!r} cannot be loaded ({error}); set CLEW_RERANKER_MODEL to a "
            "folder that holds a cross-encoder, or unset it."
        ) from error
    # The first pair is slow; it should not be a question's, nor count as what a pair takes.
    _predict(model, "clew", ["clew"])
    return model


def _predict(model: CrossEncoder, question: str, texts: list[str]) -> list[float]:
    pairs = [(question, text) for text in texts]
    try:
        given = model.predict(pairs, show_progress_bar=False, convert_to_numpy=True)
        scores = [float(score) for score in given]
    except Exception as error:
        # Model libraries share no base class: whatever comes out of them is no reading.
        raise ModelUnavailable(f"The cross-encoder failed ({type(error).__name__}).") from error
    if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
        raise ModelUnavailable(
            f"The cross-encoder did not give one finite number for each of {len(texts)} passages; "
            "CLEW_RERANKER_MODEL must name a model with a single label."
        )
    return scores
