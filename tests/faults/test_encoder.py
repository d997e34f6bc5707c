"""The encoder, in the process: passages are then found by their words and through the graph."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.tests.graph.scene import world
from clew.tests.timing import best_of_three

from .runs import asking

FAULTS = {
    "raising": "RuntimeError",
    "hung": "did not answer within its time",
}
"""Each fault, and why nothing was found by meaning."""


class Model:
    """A real model until it is broken."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.fault: str | None = None
        self.flowing = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def encode(self, *args: Any, **how: Any) -> Any:
        if self.fault == "raising":
            raise RuntimeError("CUDA error: out of memory\n  at cuda.cu:77")
        if self.fault == "hung":
            assert self.flowing.wait(60)
        return self._real.encode(*args, **how)


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


@pytest.mark.parametrize("fault", FAULTS)
@best_of_three
async def test_passages_are_found_by_their_words(
    services: Services, embedder: SentenceEmbedder, fault: str
) -> None:
    model: Any = Model(embedder._model)
    encoder = SentenceEmbedder(model, embedder.name, 32)
    ask = asking(replace(services, embedder=encoder))
    whole = await ask()
    assert whole.lost == {}
    model.fault = fault
    for name in ("Murry", "Woolf", "Dostoevsky"):
        without = await ask(f"Whom did {name} marry?")  # the vector of the other is remembered
        assert without.found
        assert FAULTS[fault] in without.lost["search_passages"]
        assert "search_passages" not in without.failed
    model.fault = None
    model.flowing.set()
    again = await ask("Whom did Leonard Woolf marry?")
    assert again.found
    assert again.lost == {}
    encoder.close()
