"""What is not the world's fault is never gone round, however much else is broken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.stores.errors import InvalidInput, StoreMisconfigured, UnknownNamespace
from clew.tests.graph.scene import ask, fails, gone, patient, with_faults, world

from .runs import QUESTION, is_sentence

BUGS = {
    "search_passages": ("chunks", "search_text"),
    "link_entities": ("entities", "find_exact"),
    "filter_access": ("chunks", "fetch"),
    "link_passages": ("chunks", "links"),
    "build_context": ("chunks", "neighbours"),
}
"""Steps, and what they ask that has a bug."""
DOWN = {"expand": gone(), "relationships_among": gone()}
"""The graph database does not answer, either."""


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


def faulty(services: Services, where: tuple[str, str], error: Exception) -> Services:
    store, method = where
    down: dict[str, Any] = {name: fails(gone) for name, gone in DOWN.items()}
    return with_faults(services, graph=down, **{store: {method: fails(error)}})


@pytest.mark.parametrize("step", BUGS)
async def test_a_bug_is_raised_as_it_is(services: Services, step: str) -> None:
    bug = TypeError("'NoneType' object is not iterable")
    with pytest.raises(TypeError) as told:
        await ask(faulty(services, BUGS[step], bug), QUESTION)
    assert told.value is bug


@pytest.mark.parametrize("step", BUGS)
async def test_what_the_record_is_not_configured_for_is_said(services: Services, step: str) -> None:
    odd = StoreMisconfigured("The database is not prepared; run `clew migrate`.")
    with pytest.raises(StoreMisconfigured) as told:
        await ask(faulty(services, BUGS[step], odd), QUESTION)
    assert told.value is odd


@pytest.mark.parametrize(
    ("question", "asked", "error"),
    [
        ("", {}, InvalidInput),
        ("null \x00 byte", {}, InvalidInput),
        (QUESTION, {"namespaces": ["nowhere"]}, UnknownNamespace),
        (QUESTION, {"document_id": "nothing.md"}, InvalidInput),
        (QUESTION, {"passage": "A text as well."}, InvalidInput),
    ],
)
async def test_the_callers_mistake_is_told_while_the_graph_is_down(
    services: Services, question: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    down = with_faults(services, graph={name: fails(gone) for name, gone in DOWN.items()})
    for _ in range(4):
        with pytest.raises(error) as told:
            await ask(down, question, **asked)
        assert is_sentence(str(told.value))
    assert down.graph_breaker.changes == {}


async def test_a_bug_in_the_walk_opens_no_circuit(services: Services) -> None:
    broken = with_faults(services, graph={"expand": fails(KeyError("seed"))})
    for _ in range(4):
        with pytest.raises(KeyError, match="seed"):
            await ask(broken, QUESTION, patient())
    assert broken.graph_breaker.changes == {}
