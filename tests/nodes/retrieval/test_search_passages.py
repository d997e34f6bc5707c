"""Two tiers by meaning beside one by words, and one by words alone when the encoder fails."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from clew.context import RetrievalContext
from clew.models.embeddings import ModelUnavailable, SentenceEmbedder
from clew.services import Services
from clew.serving.cli.options import context_from
from clew.settings import BUNDLED_MODEL
from clew.state import SearchHit
from clew.stores.access import acting_as
from clew.tests.graph.scene import Faulty, ask, fails, gone, ingest, patient, with_faults, world

TOPICS = {
    "sea": "The ship sailed over the ocean and the sailors caught herring in the storm.",
    "bread": "The baker kneads dough with flour and yeast and bakes loaves in the oven.",
    "star": "The astronomer watched the planets and a comet through the telescope.",
    "tree": "The forester planted oaks and beeches and felled the old pines.",
}
LONG: list[dict[str, Any]] = [
    {"id": "long", "text": "\n\n".join(text for text in TOPICS.values() for _ in range(4))},
    {"id": "closed", "text": "\n\n".join([TOPICS["sea"]] * 8), "acl": ["captain"]},
]
WHOLE: list[dict[str, Any]] = [
    {"id": "whole", "text": "A herring is a fish of the ocean.", "category": "fish"}
]
QUESTION = "Which fish did the sailors catch on the ocean?"
SMALL = {"chunk_tokens": 32, "chunk_overlap": 0.0, "node_group_size": 4}


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template, WHOLE, **SMALL) as opened:
        for space, sections in (("flat", False), ("tiers", True)):
            await ingest(opened, LONG, namespace=space, sections=sections)
            await ingest(opened, WHOLE, namespace=space, sections=False)
        yield opened


async def hits(
    services: Services, space: str, filters: dict[str, Any] | None = None, **fields: Any
) -> list[SearchHit]:
    state = await ask(
        services, QUESTION, patient(**fields), namespaces=[space], filters=filters or {}
    )
    found: list[SearchHit] = state["hits"]
    return found


def dense(found: Sequence[SearchHit]) -> list[tuple[int, float]]:
    ranked = sorted(
        (h for h in found if h["dense"] is not None), key=lambda h: h["dense_rank"] or 0
    )
    return [(hit["id"], hit["dense"] or 0.0) for hit in ranked]


def by_words(found: Sequence[SearchHit]) -> list[tuple[int, float | None]]:
    ranked = sorted((h for h in found if h["bm25"] is not None), key=lambda h: h["bm25_rank"] or 0)
    return [(hit["id"], hit["bm25"]) for hit in ranked]


async def texts(services: Services, found: Sequence[tuple[int, float]]) -> list[str]:
    async with services.database.connection() as connection:
        cursor = await connection.execute("select id, text from chunks")
        known = {row["id"]: row["text"] for row in await cursor.fetchall()}
    return [known[id_] for id_, _ in found]


async def test_where_nothing_has_sections_two_tiers_find_what_one_finds(
    services: Services,
) -> None:
    assert await hits(services, "flat", two_tier=True) == await hits(services, "flat")


async def test_only_passages_of_near_sections_and_of_documents_without_any_are_compared(
    services: Services,
) -> None:
    one, two = await hits(services, "tiers"), await hits(services, "tiers", two_tier=True)
    assert dense(one) == dense(two), "all the sections are near when there are few"
    narrow = dense(await hits(services, "tiers", two_tier=True, node_top_k=1))
    assert 1 < len(narrow) < len(dense(one))
    assert narrow == [hit for hit in dense(one) if hit in narrow], "in the order of meaning"
    found = await texts(services, narrow)
    assert WHOLE[0]["text"] in found
    assert TOPICS["sea"] in found
    assert TOPICS["bread"] not in found


async def test_the_search_by_words_is_the_same_in_two_tiers(services: Services) -> None:
    one = by_words(await hits(services, "tiers"))
    assert one
    assert by_words(await hits(services, "tiers", two_tier=True, node_top_k=1)) == one


async def test_filters_and_access_hold_on_both_tiers(services: Services) -> None:
    fish = await hits(services, "tiers", {"category": ["fish"]}, two_tier=True)
    assert await texts(services, dense(fish)) == [WHOLE[0]["text"]]
    assert fish == await hits(services, "tiers", {"category": ["fish"]})
    public = {id_ for id_, _ in dense(await hits(services, "tiers", two_tier=True))}
    with acting_as("captain"):
        own = {id_ for id_, _ in dense(await hits(services, "tiers", two_tier=True))}
        both = {id_ for id_, _ in dense(await hits(services, "tiers"))}
    assert public < own == both


async def test_two_runs_find_the_same(services: Services) -> None:
    first = await hits(services, "tiers", two_tier=True, node_top_k=2)
    assert await hits(services, "tiers", two_tier=True, node_top_k=2) == first


async def test_sections_are_not_asked_for_unless_two_tiers_are_wanted(services: Services) -> None:
    broken = with_faults(services, sections={"search_sections": fails(gone())})
    assert await hits(broken, "tiers") == await hits(services, "tiers")


@pytest.mark.parametrize("tier", ["search_sections", "search_spans"])
async def test_a_tier_that_does_not_answer_leaves_the_passages_of_the_graph(
    services: Services, tier: str
) -> None:
    broken = replace(services, sections=Faulty(services.sections, **{tier: fails(gone())}))
    named = {"id": "named", "text": "Ada Lovelace met Mary Somerville.", "title": "Ada Lovelace"}
    await ingest(services, [named], namespace="named", sections=True)
    state = await ask(
        broken, "Whom did Ada Lovelace meet?", patient(two_tier=True), namespaces=["named"]
    )
    assert [entry["stage"] for entry in state["degraded"]] == ["search_passages"]
    assert [d.metadata["document_id"] for d in state["documents"]] == ["named"]


@pytest.fixture
async def encoder() -> AsyncIterator[SentenceEmbedder]:
    """An encoder that a test may break."""
    opened = await SentenceEmbedder.open(BUNDLED_MODEL, batch=4)
    yield opened
    opened.close()


async def by_words_alone(
    services: Services, broken: Services, reason: str, **fields: Any
) -> dict[str, Any]:
    """The state after a question that the encoder did not answer."""
    state = await ask(broken, QUESTION, patient(**fields), namespaces=["tiers"])
    assert [entry for entry in state["degraded"] if entry["stage"] == "search_passages"] == [
        {
            "stage": "search_passages",
            "reason": reason,
            "effect": "passages are found by their words alone",
            "failed": False,
        }
    ]
    assert not state["embedded"]
    assert by_words(state["hits"]) == by_words(await hits(services, "tiers"))
    assert not dense(state["hits"])
    assert {candidate["signals"]["dense"] for candidate in state["candidates"]} == {0.0}
    return state


async def test_without_the_encoder_passages_are_found_by_their_words(services: Services) -> None:
    sentence = "The encoder is out of memory."
    asked: list[str] = []

    async def lost(_: Any, question: str) -> Any:
        asked.append(question)
        raise ModelUnavailable(sentence)

    broken = with_faults(services, embedder={"embed_question": lost})
    state = await by_words_alone(services, broken, sentence)
    assert asked[0] == QUESTION
    assert TOPICS["sea"] in {document.page_content for document in state["documents"]}
    asked.clear()
    await ask(broken, QUESTION, namespaces=["tiers"])
    assert len(asked) == 1, "no later step asks it again"


async def test_an_encoder_stuck_in_its_thread_does_not_hang_the_run(
    services: Services, encoder: SentenceEmbedder
) -> None:
    release = threading.Event()
    encoder._thread.submit(release.wait)
    stuck = replace(services, embedder=encoder)
    try:
        state = await by_words_alone(
            services, stuck, "The encoder did not answer within its time.", search_ms=400
        )
    finally:
        release.set()
    assert state["documents"]
    # When it comes back, it has nothing left of what nobody waits for.
    vector = await encoder.embed_question(QUESTION)
    assert vector.shape == (encoder.dimension,)


async def test_an_encoder_that_answers_degrades_nothing(services: Services) -> None:
    state = await ask(services, QUESTION, namespaces=["tiers"])
    assert (state["embedded"], state["degraded"]) == (True, [])
    assert dense(state["hits"])


async def test_a_vector_search_that_fails_is_no_fault_of_the_encoder(services: Services) -> None:
    broken = with_faults(services, chunks={"search_vector": fails(gone())})
    state = await ask(broken, "Which herring is in the Ocean?", namespaces=["tiers"])
    (entry,) = [one for one in state["degraded"] if one["stage"] == "search_passages"]
    assert (entry["failed"], entry["reason"]) == (True, "Nobody answers.")
    assert state["embedded"]


async def test_without_a_vector_entities_keep_the_order_of_the_walk(services: Services) -> None:
    pages = [
        {"id": "ada", "title": "Ada Lovelace", "text": "Ada Lovelace met Mary Somerville."},
        {"id": "mary", "title": "Mary Somerville", "text": "Mary Somerville lived in Jedburgh."},
        {"id": "bab", "title": "Charles Babbage", "text": "Charles Babbage met Ada Lovelace."},
    ]
    await ingest(services, pages, namespace="walked")
    broken = with_faults(services, embedder={"embed_question": fails(ModelUnavailable("Gone."))})
    context = patient(graph_expansion_hops=2)
    state = await ask(broken, "Whom did Ada Lovelace meet?", context, namespaces=["walked"])
    named = {seed["id"] for seed in state["seeds"] if seed["via"] != "anchor"}
    reached = [e for e in state["entities"] if e["id"] not in named and e["seed"] in named]
    assert len(reached) > 1
    assert [(-e["score"], e["id"]) for e in reached] == sorted(
        (-e["score"], e["id"]) for e in reached
    )
    assert "rerank_entities" not in {entry["stage"] for entry in state["degraded"]}


def test_two_tiers_are_set_for_a_run_within_bounds() -> None:
    context = context_from(["two_tier=true", "node_top_k=3"])
    assert (context.two_tier, context.node_top_k) == (True, 3)
    assert RetrievalContext().two_tier is False
    for wrong in (0, 201):
        with pytest.raises(ValidationError):
            RetrievalContext(node_top_k=wrong)
