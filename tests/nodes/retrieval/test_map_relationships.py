"""Which passages borrow entities for the map, and that it is counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.stores.access import Access
from clew.stores.fallback import FallbackRate
from clew.tests.graph.scene import Faulty, ask, patient, world


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


def watched(services: Services, asked: list[list[int]]) -> Services:
    """The same, noting for which passages entities were sought by meaning."""

    async def note(answer: Any, chunks: list[int], **how: Any) -> Any:
        asked.append(chunks)
        return await answer(chunks, **how)

    stores: Any = Faulty(services.entities, near_chunks=note)
    return replace(services, entities=stores, passage_fallback=FallbackRate("Passages", "less."))


async def test_only_passages_of_few_known_entities_borrow_those_near_in_meaning(
    services: Services,
) -> None:
    asked: list[list[int]] = []
    watching = watched(services, asked)
    found = await ask(watching, "Who toured with Leonard Woolf?", patient(top_k=20))
    kept = [one["passage"] for one in found["ranked"]]
    held = {one["id"]: 0 for one in kept}
    access = Access((services.settings.namespace,))
    for entity in await services.entities.mentions_in(list(held), access=access):
        held[entity["chunk"]] += 1
    (poor,) = asked
    assert poor
    assert {*poor} <= {id_ for id_, known in held.items() if known < 3}
    assert watching.passage_fallback.rate == len(poor) / len(kept)
