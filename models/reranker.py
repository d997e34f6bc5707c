"""An optional cross-encoder that reads question and passage together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .embeddings import ModelUnavailable

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

__all__ = ["Reranker"]


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
        return cls(model, name)

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, in the order given; the scale is the model's own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._predict, question, list(texts))

    def close(self) -> None:
        """Let the thread end once it is idle."""
        self._thread.shutdown(wait=False)

    def _predict(self, question: str, texts: list[str]) -> list[float]:
        pairs = [(question, text) for text in texts]
        scores = self._model.predict(pairs, show_progress_bar=False, convert_to_numpy=True)
        return [float(score) for score in scores]
