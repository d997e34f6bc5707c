"""Where the walk leaves from, and what of it PageRank sees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import pytest
from langgraph.runtime import Runtime

from clew.models.embeddings import SentenceEmbedder
from clew.nodes.retrieval.expand_graph import expand_graph
from clew.ranking.pagerank import walked
from clew.services import Services
from clew.state import RetrievalState
from clew.stores.access import Access
from clew.tests.graph.scene import ask, patient, world

ACCESS = Access(("default",), ("public",))


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


async def expanded(
    services: Services, question: str, **fields: int
) -> tuple[RetrievalState, RetrievalState]:
    """The state after the question, and what `expand_graph` makes of it."""
    state = cast("RetrievalState", await ask(services, question, patient(**fields)))
    runtime = Runtime(context=patient(**fields))
    update = await expand_graph(state, runtime, graph=services.graph, chat=None, access=ACCESS)
    return state, update


async def test_the_walk_leaves_from_what_the_question_named(services: Services) -> None:
    """Anchors join where they stand, and one that the walk came by is explained by its path."""
    state, update = await expanded(services, "Whom did Katherine Mansfield marry?")
    named = {seed["id"] for seed in state["seeds"] if seed["via"] != "anchor"}
    anchors = {seed["id"] for seed in state["seeds"] if seed["via"] == "anchor"}
    reached = {entity["id"]: entity for entity in update["entities"]}
    assert {reached[id_]["name"] for id_ in named} == {"Katherine Mansfield"}
    assert anchors <= reached.keys()
    assert all(entity["seed"] in named for entity in update["entities"] if entity["hop"] > 0)
    murry = next(e for e in update["entities"] if e["name"] == "John Middleton Murry")
    assert murry["id"] in anchors
    assert murry["hop"] == 1
    standing = [e for e in update["entities"] if e["hop"] == 0 and e["id"] not in named]
    assert standing, "what search alone vouches for"
    assert all(entity["path"] == [] for entity in standing)


async def test_without_a_known_name_the_walk_leaves_from_the_anchors(services: Services) -> None:
    state, update = await expanded(services, "who was a clown and toured", anchor_passages=1)
    assert {seed["via"] for seed in state["seeds"]} == {"anchor"}
    assert any(entity["hop"] > 0 for entity in update["entities"])


async def test_pagerank_sees_the_paths_by_their_worth(services: Services) -> None:
    _, update = await expanded(services, "Whom did Katherine Mansfield marry?")
    entities = {entity["id"]: entity for entity in update["entities"]}
    edges = walked(entities)
    assert {target for _, target, _ in edges} == {e for e in entities if entities[e]["hop"] > 0}
    for source, target, weight in edges:
        assert source == entities[target]["seed"]
        product = 1.0
        for step in entities[target]["path"]:
            product *= step["weight"]
        assert weight == pytest.approx(product, rel=1e-5)
