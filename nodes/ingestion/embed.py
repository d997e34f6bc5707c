"""Chunks and entity names become vectors, a batch at a time."""

from __future__ import annotations

import time

from ...models.embeddings import Embedder, pack
from ...models.recognizer import PATTERN
from ...state import Encoded, IngestionState, IngestionUpdate

__all__ = ["embed"]


async def embed(state: IngestionState, *, embedder: Embedder) -> IngestionUpdate:
    """Embed each chunk under its header, and each name once.

    What a pattern found (a date, an address, a version) is only ever looked up as written; the
    meaning of its name would say nothing.

    Reads: batch. Writes: ready, encoded.
    """
    batch = state["batch"]
    texts = [f"{chunk['header']}\n{chunk['text']}" for draft in batch for chunk in draft["chunks"]]
    names = list(
        dict.fromkeys(
            entity["name"]
            for draft in batch
            for entity in draft["entities"]
            if entity["method"] != PATTERN
        )
    )
    begun = time.perf_counter()
    vectors = iter(await embedder.embed(texts))
    encoded = Encoded(chunks=len(texts), ms=(time.perf_counter() - begun) * 1000)
    by_name = dict(zip(names, map(pack, await embedder.embed(names)), strict=True))
    return IngestionUpdate(
        ready=[
            {
                **draft,
                "chunks": [{**c, "embedding": pack(next(vectors))} for c in draft["chunks"]],
                "entities": [
                    {**e, "embedding": by_name.get(e["name"], "")} for e in draft["entities"]
                ],
            }
            for draft in batch
        ],
        encoded=[encoded],
    )
