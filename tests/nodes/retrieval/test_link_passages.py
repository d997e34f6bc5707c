"""The final scores and what they are made of, under each strategy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from langgraph.runtime import Runtime

from clew.context import FusionWeights
from clew.models.embeddings import SentenceEmbedder
from clew.nodes.retrieval.build_context import build_context
from clew.nodes.retrieval.filter_access import filter_access
from clew.nodes.retrieval.link_passages import link_passages
from clew.ranking.fusion import zscores
from clew.ranking.strategies import STRATEGIES
from clew.services import Services
from clew.state import RetrievalState
from clew.stores.access import Access
from clew.stores.postgres import search_queries as queries
from clew.tests.graph.scene import WORLD, ask, fails, gone, patient, with_faults, world

QUESTION = "Whom did Katherine Mansfield marry?"
FILLER = [
    {"id": f"f{n}", "title": f"Street {n}", "text": f"Street {n} in Richmond has {n} houses."}
    for n in range(20)
]
LISTS = {"entities": 5, "links": 3}


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template, [*WORLD, *FILLER]) as opened:
        yield opened


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_what_the_signals_add_is_the_score_and_the_order(
    services: Services, strategy: Any
) -> None:
    state = await ask(services, QUESTION, patient(strategy=strategy, top_k=20))
    scores = [r["score"] for r in state["ranked"]]
    assert scores == sorted(scores, reverse=True)
    for place, document in enumerate(state["documents"], start=1):
        trail = document.metadata["trail"]
        assert trail["strategy"] == strategy
        score = document.metadata["score"]
        assert sum(trail["contributions"].values()) == pytest.approx(score, abs=1e-5)
        assert trail["stages"]["fused"] == {"rank": place, "score": score}
        for name, added in trail["contributions"].items():
            made = trail["scaled"][name] * trail["weights"][name]
            assert added == pytest.approx(made, abs=1e-5)


async def test_the_fused_trail_shows_weights_and_zscores_of_the_raw_signals(
    services: Services,
) -> None:
    weights = FusionWeights(dense=0.9, link=0.1)
    state = await ask(services, QUESTION, patient(weights=weights, top_k=100))
    trails = [d.metadata["trail"] for d in state["documents"]]
    assert len(trails) == len(state["candidates"]), "all are shown, so z can be computed anew"
    for name, weight in weights.model_dump().items():
        expected = zscores([trail["signals"][name] for trail in trails])
        assert [t["scaled"][name] for t in trails] == pytest.approx(expected.tolist(), abs=1e-5)
        assert {t["weights"][name] for t in trails} == {weight}


async def test_rrf_shows_the_ranks_it_added_and_nothing_else(services: Services) -> None:
    state = await ask(services, QUESTION, patient(strategy="rrf", rrf_k=10, top_k=20))
    for document in state["documents"]:
        trail = document.metadata["trail"]
        stages = trail["stages"]
        assert trail["scaled"] == {
            name: round(1 / (10 + stages[name]["rank"]), 6) if stages[name] else 0.0
            for name in ("dense", "bm25", "graph")
        }


async def test_additive_shows_the_search_or_the_walk_whichever_counted(services: Services) -> None:
    state = await ask(services, QUESTION, patient(strategy="additive", top_k=20))
    sides = set()
    for document in state["documents"]:
        trail = document.metadata["trail"]
        signals, counted = trail["signals"], trail["scaled"]
        walk = signals["walk"] + 0.2 * signals["named"]
        walked = walk >= signals["dense"]
        sides.add(walked)
        assert counted["walk"] == pytest.approx(signals["walk"] if walked else 0, abs=1e-6)
        assert counted["dense"] == pytest.approx(0 if walked else signals["dense"], abs=1e-6)
        assert counted["named"] == (walked and signals["named"])
    assert sides == {True, False}


@pytest.mark.parametrize(("anchors", "unseen"), [(0, {"bm25", "graph"}), (20, {"dense", "bm25"})])
async def test_the_places_are_those_of_the_stages_that_gave_them(
    services: Services, anchors: int, unseen: set[str]
) -> None:
    context = patient(top_k=20, search_candidates=10, anchor_passages=anchors, intent="general")
    state = await ask(services, QUESTION, context)
    hits = {hit["id"]: hit for hit in state["hits"]}
    places = {
        "dense": {id_: hit["dense_rank"] for id_, hit in hits.items()},
        "bm25": {id_: hit["bm25_rank"] for id_, hit in hits.items()},
        "graph": {p["id"]: place for place, p in enumerate(state["entity_passages"], start=1)},
        "first_stage": {c["id"]: place for place, c in enumerate(state["candidates"], start=1)},
        "fused": {r["passage"]["id"]: place for place, r in enumerate(state["ranked"], start=1)},
        "cross_encoder": {},
    }
    absent: set[str] = set()
    for ranked, document in zip(state["ranked"], state["documents"], strict=False):
        id_, stages = ranked["passage"]["id"], document.metadata["trail"]["stages"]
        assert list(stages) == list(places)
        for name, stage in stages.items():
            assert (stage and stage["rank"]) == places[name].get(id_)
        for name in ("dense", "bm25"):
            if stages[name]:
                assert stages[name]["score"] == pytest.approx(hits[id_][name], abs=1e-3)
        absent |= {name for name, stage in stages.items() if stage is None}
    assert absent == {*unseen, "cross_encoder"}


async def test_without_links_the_first_stage_stands_and_the_trail_says_no_more(
    services: Services,
) -> None:
    broken = with_faults(services, chunks={"links": fails(gone())})
    state = await ask(broken, QUESTION, patient(top_k=5))
    for place, document in enumerate(state["documents"], start=1):
        trail = document.metadata["trail"]
        assert trail["stages"]["first_stage"]["rank"] == place
        assert trail["stages"]["first_stage"]["score"] == document.metadata["score"]
        assert trail["stages"]["fused"] is trail["strategy"] is None
        assert trail["scaled"] == trail["weights"] == trail["contributions"] == {}


async def test_a_trail_is_plain_json_and_short(services: Services) -> None:
    state = await ask(services, QUESTION, patient(top_k=100, graph_expansion_hops=3))
    for document in state["documents"]:
        trail = document.metadata["trail"]
        assert json.loads(json.dumps(trail, allow_nan=False)) == trail
        assert {name: trail[name] for name in LISTS if len(trail[name]) > LISTS[name]} == {}
        assert len(json.dumps(trail)) < 8000


async def test_where_a_passage_comes_from_costs_no_query(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = cast("RetrievalState", await ask(services, QUESTION, patient(top_k=100)))
    asked: list[str] = []
    fetch = services.database.fetch

    async def counted(query: Any, params: Any) -> Any:
        asked.append(query)
        return await fetch(query, params)

    monkeypatch.setattr(services.database, "fetch", counted)
    runtime = Runtime(context=patient(top_k=100))
    given: dict[str, Any] = {"chunks": services.chunks, "access": Access(("default",))}

    filtered = await filter_access(state, runtime, **given)
    assert asked == [queries.FETCH_PASSAGES]
    asked.clear()
    before = cast("RetrievalState", {**state, **filtered})
    linked = await link_passages(before, runtime, embedder=services.embedder, **given)
    # Every passage was a candidate: none is new to score, none is new to read.
    assert asked == [queries.LINKS]
    asked.clear()
    after = cast("RetrievalState", {**state, **linked})
    built = await build_context(after, runtime, breakers=[], left_ms=1000.0, **given)
    assert asked == [queries.NEIGHBOURS]
    assert len(built["documents"]) > 20
    assert all(document.metadata["trail"]["stages"]["fused"] for document in built["documents"])
