"""Where the walk leaves from, how a traversal bends it, and where it may not go."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, cast

import pytest
from langgraph.runtime import Runtime

from clew.context import RetrievalContext
from clew.models.embeddings import SentenceEmbedder
from clew.models.names import normalise
from clew.models.personas import Persona
from clew.nodes.retrieval._traversal import plan_traversal
from clew.nodes.retrieval.expand_graph import expand_graph
from clew.prompts.understand_question import Intent
from clew.ranking.pagerank import walked
from clew.services import Services
from clew.state import Period, RetrievalState, Traversal, Understanding
from clew.stores.access import Access
from clew.stores.cache import Cache, Scope, scope_of
from clew.stores.records import LinkedEntity, ReachedEntity
from clew.tests.graph.scene import Faulty, ask, fails, gone, ingest, patient, world

HOME = Access(("default",))
BOTH = Access(("default", "other"))
EIGHTIES = Period(date_from="1980-01-01", date_to="1989-12-31")


def document(
    id_: str, *triples: str, day: str | None = None, acl: str = "public"
) -> dict[str, Any]:
    """A document whose graph is given: "Ada | worked with | Bob"."""
    parted = [[part.strip() for part in triple.split("|")] for triple in triples]
    names = sorted({end for source, _, target in parted for end in (source, target)})
    return {
        "id": id_,
        "text": " ".join(f"{' '.join(triple)}." for triple in parted),
        "date": day,
        "acl": [acl],
        "graph": {"entities": names, "triples": parted},
    }


AT_HOME = [
    document("work", "Ada | worked with | Bob", "Bob | knew | Carl", day="1985-05-01"),
    document("birth", "Ada | born in | Leeds", "Ada | taught | Dora", day="1950-01-01"),
    document("undated", "Ada | family of | Emil"),
    {"id": "party", "text": "We saw Ada and Fanny there. Ada and Fanny danced."},
    document("hub", *(f"Gus | knew | Guest{n:02}" for n in range(60))),
]
ELSEWHERE = [
    document("friends", "Bob | friend of | Eve", "Eve | knew | Far"),
    document("guests", "Guest00 | knew | Hostess"),
    document("secret", "Bob | knew | Secret Sam", "Carl | knew | Hidden Hal", acl="mallory"),
]
CLOSED = [document("closed", "Bob | knew | Closed Cleo")]


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


@pytest.fixture(scope="module")
async def people(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template, AT_HOME) as opened:
        await ingest(opened, ELSEWHERE, namespace="other")
        await ingest(opened, CLOSED, namespace="closed")
        yield opened


def traversal(intent: Intent, period: Period | None = None, **fields: Any) -> Traversal:
    """The walk of the neutral persona for a question of this kind."""
    context = RetrievalContext(**fields)
    understanding = Understanding(
        rung="lexical",
        intent=intent,
        confidence=1.0,
        mentions=[],
        time=None,
        period=period,
        place=None,
    )
    return plan_traversal(understanding, context, Persona(), today=date(2026, 11, 22))


async def expand(
    services: Services,
    names: Sequence[str],
    walk: Traversal,
    access: Access = HOME,
    *,
    paths: Cache[Sequence[ReachedEntity]] | None = None,
    scope: Scope | None = None,
    walks_record: bool = True,
) -> RetrievalState:
    """What the step makes of a question that named these."""
    found = await services.entities.find_exact([normalise(n) for n in names], access=access)
    seeds = [
        LinkedEntity(**match["entity"], mention=match["query"], via="exact", score=1.0)
        for match in found
    ]
    return await expand_graph(
        cast("RetrievalState", {"seeds": seeds, "traversal": walk, "synonyms_tried": False}),
        Runtime(context=patient()),
        graph=services.graph,
        entities=services.entities,
        paths=Cache("paths", 10) if paths is None else paths,
        scope=scope,
        walks_record=walks_record,
        chat=None,
        left_ms=60_000,
        access=access,
    )


def scores(update: RetrievalState) -> dict[str, float]:
    """What was reached beyond the seeds, and its score."""
    return {e["name"]: e["score"] for e in update["entities"] if e["path"]}


async def expanded(
    services: Services, question: str, **fields: int
) -> tuple[RetrievalState, RetrievalState]:
    """The state after the question, and what `expand_graph` makes of it."""
    state = cast("RetrievalState", await ask(services, question, patient(**fields)))
    update = await expand_graph(
        state,
        Runtime(context=patient(**fields)),
        graph=services.graph,
        entities=services.entities,
        paths=Cache("paths", 10),
        scope=None,
        walks_record=True,
        chat=None,
        left_ms=60_000,
        access=HOME,
    )
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
    _, update = await expanded(
        services, "Whom did Katherine Mansfield marry?", graph_expansion_hops=1
    )
    entities = {entity["id"]: entity for entity in update["entities"]}
    edges = walked(entities)
    assert {target for _, target, _ in edges} == {e for e in entities if entities[e]["hop"] > 0}
    for source, target, weight in edges:
        assert source == entities[target]["seed"]
        product = 1.0
        for step in entities[target]["path"]:
            product *= step["weight"]
        assert weight == pytest.approx(product, rel=1e-5)


async def test_a_relational_walk_prefers_what_somebody_stated(people: Services) -> None:
    plain = scores(await expand(people, ["Ada"], traversal("general")))
    found = scores(await expand(people, ["Ada"], traversal("relational")))
    assert found["Fanny"] == pytest.approx(plain["Fanny"] / 2)
    assert found["Bob"] == plain["Bob"]
    assert "Carl" in found.keys() - plain.keys(), "two hops away"


async def test_a_spatial_walk_prefers_relations_of_place(people: Services) -> None:
    plain = scores(await expand(people, ["Ada"], traversal("general")))
    found = scores(await expand(people, ["Ada"], traversal("spatial")))
    assert found["Leeds"] == plain["Leeds"]
    assert found["Bob"] == pytest.approx(0.6 * plain["Bob"])


async def test_a_walk_about_one_entity_brings_few(people: Services) -> None:
    broad = await expand(people, ["Gus"], traversal("general"))
    narrow = await expand(people, ["Gus"], traversal("entity_focused"))
    assert len(scores(broad)) == 60
    assert len(scores(narrow)) == 50


async def test_a_temporal_walk_keeps_to_the_period(people: Services) -> None:
    update = await expand(people, ["Ada"], traversal("temporal", EIGHTIES))
    assert scores(update).keys() == {"Bob"}
    assert update["traversal"] == traversal("temporal", EIGHTIES)


async def test_a_period_in_which_nothing_was_seen_is_given_up_and_told(people: Services) -> None:
    period = Period(date_from="1700-01-01", date_to="1799-12-31")
    update = await expand(people, ["Ada"], traversal("temporal", period))
    assert scores(update).keys() == {"Bob", "Leeds", "Dora", "Emil", "Fanny"}
    assert (update["traversal"]["date_from"], update["traversal"]["date_to"]) == (None, None)
    assert update["traversal"]["why"] == [
        "from 1700-01-01 to 1799-12-31: the question names this period",
        "walked without dates: no relation was seen from 1700-01-01 to 1799-12-31",
    ]


async def test_the_callers_own_dates_are_never_given_up(people: Services) -> None:
    update = await expand(people, ["Ada"], traversal("general", relations_to="1799-12-31"))
    assert scores(update) == {}
    assert update["traversal"]["date_to"] == "1799-12-31"


async def test_names_lead_from_one_namespace_into_another(people: Services) -> None:
    """Bob is reached at home; elsewhere he has a friend, a hop further than his twin."""
    update = await expand(people, ["Ada"], traversal("cross_namespace"), BOTH)
    entities = {entity["id"]: entity for entity in update["entities"]}
    eve = next(e for e in update["entities"] if e["name"] == "Eve")
    assert [(s["source"], s["type"], s["target"]) for s in eve["path"]] == [
        ("Ada", "WORKED_WITH", "Bob"),
        ("Bob", "SAME_NAME", "Bob"),
        ("Bob", "FRIEND_OF", "Eve"),
    ]
    home, twin = sorted(
        (e for e in entities.values() if e["name"] == "Bob"), key=lambda e: e["hop"]
    )
    assert twin["score"] == pytest.approx(home["score"] / 2)
    assert eve["score"] == pytest.approx(twin["score"] * eve["path"][-1]["weight"])
    assert entities[eve["seed"]]["name"] == "Ada", "PageRank and the thread start there"
    assert "Far" not in scores(update), "one hop beyond a twin"
    others = [e for e in update["entities"] if e["path"]]
    assert others == sorted(others, key=lambda e: (-e["score"], e["id"]))


@pytest.mark.parametrize(("intent", "access"), [("relational", BOTH), ("cross_namespace", HOME)])
async def test_nothing_is_crossed_unless_asked_and_into_no_namespace_not_asked(
    people: Services, intent: Intent, access: Access
) -> None:
    assert "Eve" not in scores(await expand(people, ["Ada"], traversal(intent), access))


async def test_a_crossing_shows_nothing_that_may_not_be_read(people: Services) -> None:
    """Neither another's entities in a namespace that may be entered, nor any of a closed one."""
    walk = traversal("cross_namespace")
    seen = str(await expand(people, ["Ada"], walk, BOTH))
    assert "Eve" in seen
    assert "Secret Sam" not in seen
    assert "Hidden Hal" not in seen
    assert "Closed Cleo" not in seen
    mallory = replace(BOTH, principals=("mallory",))
    shown = str(await expand(people, ["Ada"], walk, mallory))
    assert "Secret Sam" in shown
    assert "Hidden Hal" in shown, "Carl is elsewhere for those who may read of him there"
    everywhere = replace(BOTH, namespaces=(*BOTH.namespaces, "closed"))
    assert "Closed Cleo" in str(await expand(people, ["Ada"], walk, everywhere))


async def test_what_lies_beyond_counts_towards_the_limit(people: Services) -> None:
    broad = await expand(people, ["Gus"], traversal("cross_namespace"), BOTH)
    assert len(scores(broad)) == 61, "sixty guests and a hostess elsewhere"
    assert sum(entity["name"] == "Guest00" for entity in broad["entities"]) == 2
    walk = traversal("cross_namespace", graph_entity_limit=60)
    assert "Hostess" not in scores(await expand(people, ["Gus"], walk, BOTH))


async def test_a_walk_over_the_record_is_remembered(people: Services) -> None:
    paths = Cache[Sequence[ReachedEntity]]("paths", 10)
    walk, scope = traversal("relational"), scope_of(HOME, [1])
    first = await expand(people, ["Ada"], walk, paths=paths, scope=scope)
    silent = replace(people, graph=cast("Any", Faulty(people.graph, expand=fails(gone()))))
    again = await expand(silent, ["Ada"], walk, paths=paths, scope=scope)
    assert again == first
    assert paths.hits == 1


@pytest.mark.parametrize(
    "other",
    [
        {"scope": scope_of(HOME, [2])},
        {"scope": scope_of(replace(HOME, principals=("mallory",)), [1])},
        {"walk": traversal("general")},
        {"names": ["Bob"]},
    ],
    ids=["another version", "another caller", "another walk", "another seed"],
)
async def test_another_walk_is_not_taken_for_a_remembered_one(
    people: Services, other: dict[str, Any]
) -> None:
    paths = Cache[Sequence[ReachedEntity]]("paths", 10)
    asked: dict[str, Any] = {
        "names": ["Ada"],
        "walk": traversal("relational"),
        "scope": scope_of(HOME, [1]),
    }
    await expand(people, **asked, paths=paths)
    await expand(people, **{**asked, **other}, paths=paths)
    assert (paths.hits, paths.misses) == (0, 2)


@pytest.mark.parametrize(
    "how", [{"scope": None}, {"walks_record": False}], ids=["caches off", "a copy is walked"]
)
async def test_a_walk_that_may_be_stale_or_unwanted_is_not_remembered(
    people: Services, how: dict[str, Any]
) -> None:
    paths = Cache[Sequence[ReachedEntity]]("paths", 10)
    asked = {"scope": scope_of(HOME, [1]), **how}
    for _ in range(2):
        await expand(people, ["Ada"], traversal("relational"), paths=paths, **asked)
    assert (paths.hits, paths.misses) == (0, 0)


async def test_a_persona_bounds_the_passages_that_entities_bring(people: Services) -> None:
    """Forty passages name Hanna."""
    crowd = [document(f"crowd{n:02}", f"Hanna | knew | Hue{n:02}") for n in range(40)]
    await ingest(people, crowd, namespace="crowd")
    for persona, most in (("friend", 15), ("biographer", 20), ("neutral", 40)):
        state = await ask(
            people,
            "Whom did Hanna know?",
            patient(persona=persona, anchor_passages=0),
            namespaces=["crowd"],
        )
        assert len(state["entity_passages"]) == most
        assert state["traversal"]["persona"] == persona
