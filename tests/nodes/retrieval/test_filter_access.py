"""When a text is given in place of a question, what repeats it does not crowd out the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from clew.models.embeddings import SentenceEmbedder
from clew.nodes.retrieval.filter_access import KEPT
from clew.services import Services
from clew.tests.graph.scene import ask, patient, world

BOOK = "\n\n".join(
    f"On day {n} Bertram Hollis climbed the lighthouse and wrote {n} lines about the sea, the "
    f"wind, the {n} gulls and the lamp that he lit at {n % 12} in the evening."
    for n in range(100)
)
OTHER = "Bertram Hollis was born in Oban, where his father lit the street lamps."


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    documents = [{"id": "book", "text": BOOK}, {"id": "other", "text": OTHER}]
    async with world(template, documents, chunk_tokens=48, chunk_overlap=0.0) as opened:
        yield opened


async def test_what_repeats_the_text_is_no_candidate_however_much_of_it_there_is(
    services: Services,
) -> None:
    context = patient(search_candidates=200)
    # One word more, so that nothing is a question of ids.
    state: dict[str, Any] = await ask(services, "", context, passage=f"{BOOK}\n\nFinis.")
    assert len(state["hits"]) > KEPT
    assert [c["id"] for c in state["candidates"]] == [r["passage"]["id"] for r in state["ranked"]]
    assert [document.metadata["document_id"] for document in state["documents"]] == ["other"]


async def test_a_question_keeps_all_its_candidates(services: Services) -> None:
    state = await ask(services, "What did Bertram Hollis write about the sea?")
    assert len(state["candidates"]) > KEPT
    assert "book" in {document.metadata["document_id"] for document in state["documents"]}
