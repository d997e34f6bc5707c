"""One question, from the entities that a model names to the passages that they lead to.

"What are the global implications of abortion?" finds seven entities by the graph and six by
synonyms, thirteen in all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.stores.access import acting_as
from clew.tests.graph.scene import ask, ingest, patient, world
from clew.tests.models.chat_server import (
    QUESTION,
    SYNONYMS,
    ChatServer,
    Reply,
    chat_server,
    open_chat,
    understood,
)

from .corpus import (
    ASKED,
    DOCUMENTS,
    NAMED,
    OFFERED,
    SECOND_HOP,
    SECRET,
    SYNONYMS_LINKED,
    WALKED,
)

RIVAL = {
    "id": "rival",
    "text": "Abortion has global implications for Rivalland.",
    "graph": {"entities": [], "triples": [["abortion", "debated in", "Rivalland"]]},
}


@pytest.fixture(scope="module")
async def corpus(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template, DOCUMENTS) as opened:
        await ingest(opened, [RIVAL], namespace="rival")
        yield opened


@pytest.fixture
def llm() -> Iterator[ChatServer]:
    with chat_server() as started:
        started.says(QUESTION, understood(*NAMED, intent="general"))
        started.says(SYNONYMS, offering(OFFERED))
        yield started


@pytest.fixture
async def services(corpus: Services, llm: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Services:
    return replace(corpus, chat=await open_chat(llm, monkeypatch))


def offering(names: dict[str, list[str]]) -> Reply:
    return Reply({"entities": [{"entity": k, "synonyms": texts} for k, texts in names.items()]})


async def run(
    services: Services, question: str = ASKED, asked: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    """The graph by itself: what search found best vouches for nothing."""
    context = patient(**{"anchor_passages": 0, "caches": False, **fields})
    return await ask(services, question, context, **(asked or {}))


def names(found: list[dict[str, Any]], **where: Any) -> set[str]:
    return {one["name"] for one in found if all(one[key] == value for key, value in where.items())}


def walked(state: dict[str, Any]) -> set[str]:
    """What the walk returned: the seeds it left from, and where it came."""
    synonyms = names(state["seeds"], via="synonym")
    return names(state["entities"]) - synonyms


class TestExtraction:
    """Stage 1: a model names what the question is about."""

    async def test_what_the_model_names_is_found_in_the_graph(self, services: Services) -> None:
        state = await run(services)
        assert state["understanding"]["rung"] == "llm"
        assert names(state["seeds"], via="exact") == set(NAMED)

    async def test_it_names_what_the_question_only_implies(self, services: Services) -> None:
        by_words = names((await run(services, extraction="lexical"))["seeds"], via="exact")
        assert by_words == {"global implications", "abortion"}
        assert set(NAMED) - by_words == {"reproductive rights", "Supreme Court"}

    async def test_question_words_lead_nowhere_even_if_it_names_them(
        self, services: Services, llm: ChatServer
    ) -> None:
        llm.says(QUESTION, understood("What", "are", "the", "of", *NAMED, intent="general"))
        assert names((await run(services))["seeds"], via="exact") == set(NAMED)


class TestGraph:
    """Stage 2: from what was named along relations."""

    async def test_one_hop_finds_seven_entities(self, services: Services) -> None:
        state = await run(services)
        assert walked(state) == WALKED
        assert len(WALKED) == 7
        assert names(state["entities"], hop=1) == WALKED - set(NAMED)

    async def test_relations_are_walked_in_both_directions(self, services: Services) -> None:
        state = await run(services)
        steps = {e["name"]: e["path"][0] for e in state["entities"] if e["hop"] == 1}
        assert steps["Roe v. Wade"]["source"] == "Supreme Court", "along the relation"
        assert steps["World Health Organization"]["target"] == "abortion", "and against it"

    @pytest.mark.parametrize(
        ("hops", "found"), [(1, WALKED), (2, WALKED | SECOND_HOP), (3, WALKED | SECOND_HOP)]
    )
    async def test_the_hops_asked_for_decide_how_far_it_goes(
        self, services: Services, hops: int, found: set[str]
    ) -> None:
        assert walked(await run(services, graph_expansion_hops=hops)) == found

    async def test_a_relation_type_that_is_closed_leads_nowhere(self, services: Services) -> None:
        state = await run(services, relation_weights={"DECIDED": 0.0})
        assert walked(state) == WALKED - {"Roe v. Wade"}


class TestSynonyms:
    """Stage 3: other names, when the graph has little to say."""

    async def test_seven_by_the_graph_and_six_by_synonyms_make_thirteen(
        self, services: Services, llm: ChatServer
    ) -> None:
        state = await run(services)
        assert state["sparse"], "seven are fewer than ten"
        assert names(state["seeds"], via="synonym") == SYNONYMS_LINKED
        assert len(SYNONYMS_LINKED) == 6
        assert names(state["entities"]) == WALKED | SYNONYMS_LINKED
        assert len(state["entities"]) == 13
        assert [call["prompt"] for call in state["calls"]] == ["understand_question", "synonyms"]
        assert llm.asked(SYNONYMS) == 1
        assert state["degraded"] == []

    async def test_nobody_is_asked_when_the_graph_knows_enough(
        self, services: Services, llm: ChatServer
    ) -> None:
        state = await run(services, graph_min_entities_threshold=7)
        assert not state["sparse"]
        assert names(state["entities"]) == WALKED
        assert llm.asked(SYNONYMS) == 0

    async def test_what_has_drifted_is_dropped_and_shown(
        self, services: Services, llm: ChatServer
    ) -> None:
        llm.says(SYNONYMS, offering({"abortion": ["reproductive health", "abortion care"]}))
        state = await run(services)
        kept = {one["text"]: one["kept"] for one in state["synonyms"]}
        assert kept == {"reproductive health": False, "abortion care": True}
        assert "reproductive health" not in names(state["entities"])


class TestReranking:
    """Stage 4: entities by how near they are to the question."""

    async def test_entities_stand_by_meaning(self, services: Services) -> None:
        state = await run(services, synonyms="off")
        order = [entity["name"] for entity in state["entities"]]
        question, *vectors = await services.embedder.embed([ASKED, *order])
        cosine = {
            name: float(question @ vector) for name, vector in zip(order, vectors, strict=True)
        }
        first, rest = order[: len(NAMED)], order[len(NAMED) :]
        assert first == sorted(NAMED, key=lambda name: -cosine[name]), "what was named comes first"
        assert rest == sorted(rest, key=lambda name: -cosine[name])

    async def test_switched_off_they_stand_as_the_walk_found_them(self, services: Services) -> None:
        state = await run(services, synonyms="off", graph_semantic_reranking_enabled=False)
        scores = [entity["score"] for entity in state["entities"]]
        assert scores == sorted(scores, reverse=True)
        named = [seed["name"] for seed in state["seeds"]]
        assert [entity["name"] for entity in state["entities"]][: len(named)] == named


class TestEdges:
    """When a stage has nothing, or fails."""

    async def test_a_question_about_nothing_known_is_answered_by_search(
        self, services: Services, llm: ChatServer
    ) -> None:
        llm.says(QUESTION, understood("Xylophone Qwertz", intent="general"))
        llm.says(SYNONYMS, offering({}))
        state = await run(services, "Who tuned the Xylophone Qwertz?")
        assert state["entities"] == []
        assert state["synonyms_tried"]
        assert state["documents"]
        assert state["degraded"] == []

    async def test_a_model_that_fails_costs_what_only_it_knew(
        self, services: Services, llm: ChatServer
    ) -> None:
        llm.says(QUESTION, Reply(status=500))
        llm.says(SYNONYMS, Reply("no JSON"))
        state = await run(services)
        assert {entry["stage"] for entry in state["degraded"]} == {
            "extract_entities", "generate_synonyms",
        }  # fmt: skip
        assert names(state["entities"]) == {
            "global implications", "abortion", "World Health Organization",
        }  # fmt: skip
        assert "default/overview#0" in [document.id for document in state["documents"]]


class TestPassages:
    """From entities to whole passages."""

    async def test_a_passage_comes_whole_with_the_entities_that_led_to_it(
        self, services: Services
    ) -> None:
        (found,) = [
            document
            for document in (await run(services))["documents"]
            if document.id == "default/overview#0"
        ]
        assert found.page_content == DOCUMENTS[0]["text"]
        assert len(found.page_content) > 200, "not a description of a hundred characters"
        assert (found.metadata["document_id"], found.metadata["chunk_index"]) == ("overview", 0)
        assert set(found.metadata["matched_entities"]) == WALKED - {"Supreme Court", "Roe v. Wade"}
        assert found.metadata["entity_count"] == 5

    async def test_every_passage_that_mentions_an_entity_is_reached(
        self, services: Services
    ) -> None:
        state = await run(services)
        read = {document.id: document.metadata for document in state["documents"]}
        reached = {passage["id"] for passage in state["entity_passages"]}
        assert len(reached) == 5
        mentioned = {key for key, metadata in read.items() if metadata["entity_count"]}
        assert mentioned == {
            f"default/{name}#0"
            for name in ("overview", "court", "headquarters", "procedures", "outlook")
        }


class TestNamespaces:
    """Both ends, the entity and the passage, lie where the caller may look."""

    async def test_a_name_that_another_namespace_has_too_leads_to_ones_own_passages(
        self, services: Services
    ) -> None:
        here = await run(services)
        there = await run(services, asked={"namespaces": ["rival"]}, synonyms="off")
        assert "Rivalland" not in names(here["entities"])
        assert {d.metadata["namespace"] for d in here["documents"]} == {"default"}
        assert names(there["entities"]) == {"abortion", "Rivalland"}
        assert [d.id for d in there["documents"]] == ["rival/rival#0"]

    async def test_what_only_the_ministry_may_read_leads_only_the_ministry_anywhere(
        self, services: Services, llm: ChatServer
    ) -> None:
        llm.says(QUESTION, understood(*NAMED, SECRET, intent="general"))
        with acting_as("ministry"):
            allowed = await run(services)
        assert SECRET in names(allowed["entities"])
        assert "default/secret#0" in [document.id for document in allowed["documents"]]
        state = await run(services)
        assert names(state["entities"]) == WALKED | SYNONYMS_LINKED
        assert "default/secret#0" not in [document.id for document in state["documents"]]
        assert SECRET not in state["context"]


class TestCount:
    """Passages by how many of the entities they mention."""

    async def test_more_entities_come_first(self, services: Services) -> None:
        state = await run(services, entity_order="count")
        counts = [passage["entity_count"] for passage in state["entity_passages"]]
        assert counts == [5, 3, 3, 2, 1]
        assert [passage["score"] for passage in state["entity_passages"]] == counts

    async def test_equal_counts_keep_one_order(self, services: Services) -> None:
        state = await run(services, entity_order="count")
        ids = [passage["id"] for passage in state["entity_passages"]]
        equal = [p["id"] for p in state["entity_passages"] if p["entity_count"] == 3]
        assert equal == sorted(equal)
        again = await run(services, entity_order="count")
        assert [passage["id"] for passage in again["entity_passages"]] == ids
