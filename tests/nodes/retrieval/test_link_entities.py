"""From the words of a question to the entities they mean, one rung after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from langgraph.runtime import Runtime

from clew.models.embeddings import SentenceEmbedder
from clew.nodes.retrieval.link_entities import ANCHOR_SCORE, ORDINARY, link_entities
from clew.services import Services
from clew.state import RetrievalState
from clew.stores.access import Access
from clew.stores.cache import Cache, Scope, scope_of
from clew.stores.errors import StoreUnavailable
from clew.stores.records import LinkedEntity
from clew.tests.graph.scene import Faulty, fails, gone, ingest, patient, world

ACCESS = Access(("default",))
PAGES = {
    "York": "York lies in England.",
    "Margaret of York": "Margaret of York married Charles the Bold in Damme.",
    "Duke of York": "The Duke of York met Guybrush Threepwood.",
    "Threepwood": "Threepwood is a village near London.",
    "International Business Machines": "International Business Machines (IBM) is in Armonk.",
    "Katherine Mansfield": "Katherine Mansfield wrote in Menton.",
    "The Ministry of Agriculture and Fisheries": "It was in Whitehall.",
}


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    pages = [{"id": f"{title}.md", "title": title, "text": text} for title, text in PAGES.items()]
    async with world(template, pages) as opened:
        yield opened


async def link(
    services: Services,
    *spans: str,
    ngrams: tuple[str, ...] = (),
    hits: tuple[tuple[int, float], ...] = (),
    state: dict[str, Any] | None = None,
    scope: Scope | None = None,
    access: Access = ACCESS,
    **fields: Any,
) -> list[LinkedEntity]:
    """The seeds for these words of a question."""
    mentions = [{"text": text, "kind": "span"} for text in spans]
    mentions += [{"text": text, "kind": "ngram"} for text in ngrams]
    given: Any = {
        "understanding": {"mentions": mentions},
        "request": {"document_id": "", "discover": False},
        "traversal": {"intent": "general"},
        "embedded": True,
        "expanded": False,
        "synonyms_tried": False,
        "hits": [{"id": chunk, "rrf": rrf} for chunk, rrf in hits],
        **(state or {}),
    }
    update: RetrievalState = await link_entities(
        given,
        Runtime(context=patient(**fields)),
        entities=services.entities,
        chunks=services.chunks,
        embedder=services.embedder,
        chat=None,
        mention_fallback=services.mention_fallback,
        links=services.links,
        scope=scope,
        left_ms=60_000,
        access=access,
    )
    return update["seeds"]


def named(seeds: list[LinkedEntity]) -> dict[str, str]:
    return {seed["name"]: seed["via"] for seed in seeds}


async def test_the_longest_name_wins_over_its_parts(services: Services) -> None:
    seeds = await link(services, ngrams=("margaret of york", "york", "margaret"))
    assert named(seeds) == {"Margaret of York": "exact"}
    assert seeds[0]["score"] == 1.0


async def test_a_part_that_looks_like_a_name_does_not_come_back_by_a_lower_rung(
    services: Services,
) -> None:
    seeds = await link(services, "York", ngrams=("margaret of york",))
    assert named(seeds) == {"Margaret of York": "exact"}


async def test_an_ordinary_word_counts_little_beside_a_name(services: Services) -> None:
    seeds = await link(services, "Katherine Mansfield", ngrams=("england", "margaret of york"))
    worth = {seed["name"]: seed["score"] for seed in seeds}
    assert worth == {"Katherine Mansfield": 1, "Margaret of York": 1, "England": ORDINARY}
    (alone,) = await link(services, ngrams=("england",))
    assert alone["score"] == 1


async def test_two_names_side_by_side_are_both_found(services: Services) -> None:
    seeds = await link(services, "Margaret of York", "Katherine Mansfield")
    assert named(seeds) == {"Margaret of York": "exact", "Katherine Mansfield": "exact"}
    assert {seed["mention"] for seed in seeds} == {"Margaret of York", "Katherine Mansfield"}


async def test_an_article_case_and_an_accent_make_no_difference(services: Services) -> None:
    seeds = await link(services, "ministry of Agriculture AND Fisheries", "the Kathérine Mansfield")
    assert set(named(seeds).values()) == {"exact"}
    assert len(seeds) == 2


async def test_an_alias_counts_a_little_less_than_the_name(services: Services) -> None:
    (seed,) = await link(services, "IBM")
    assert (seed["name"], seed["via"]) == ("International Business Machines", "alias")
    assert 0.9 <= seed["score"] < 1


@pytest.mark.parametrize(
    "written", ["Katherine Mansfeld", "Kahterine Mansfield", "Katherina Mansfieldd"]
)
async def test_a_typo_a_word_is_forgiven(services: Services, written: str) -> None:
    seeds = await link(services, written)
    assert named(seeds)["Katherine Mansfield"] == "typo"
    assert seeds[0]["name"] == "Katherine Mansfield"
    assert seeds[0]["score"] < 0.95


async def test_part_of_a_name_is_found_by_its_words(services: Services) -> None:
    seeds = await link(services, "Fisheries")
    assert named(seeds) == {"The Ministry of Agriculture and Fisheries": "text"}
    assert seeds[0]["score"] < 0.85


async def test_meaning_is_the_last_rung_and_only_for_what_is_near(services: Services) -> None:
    seeds = await link(services, "Department for Agriculture and Fisheries")
    assert named(seeds) == {"The Ministry of Agriculture and Fisheries": "vector"}
    assert await link(services, "Quantum Chromodynamics") == []


async def test_word_groups_that_do_not_look_like_names_are_looked_up_exactly_only(
    services: Services,
) -> None:
    assert await link(services, ngrams=("katherine mansfeld", "guybrush")) == []
    assert named(await link(services, ngrams=("katherine mansfield",)))


async def test_each_rung_is_asked_only_for_what_the_ones_above_left_open(
    services: Services,
) -> None:
    asked: dict[str, list[str]] = {}

    def noting(name: str) -> Any:
        async def note(answer: Any, names: Any, *rest: Any, **more: Any) -> Any:
            asked[name] = list(names)
            return await answer(names, *rest, **more)

        return note

    rungs = ("find_exact", "find_similar", "find_text", "find_nearest")
    watched = Faulty(services.entities, **{name: noting(name) for name in rungs})
    await link(
        replace(services, entities=watched),
        "York", "Katherine Mansfeld", "Guybrush", "Zorblax Quuxley",
    )  # fmt: skip
    assert set(asked["find_exact"]) == {
        "york", "katherine mansfeld", "guybrush", "zorblax quuxley",
    }  # fmt: skip
    assert asked["find_similar"] == ["katherine mansfeld", "guybrush", "zorblax quuxley"]
    assert asked["find_text"] == ["guybrush", "zorblax quuxley"]
    assert asked["find_nearest"] == ["guybrush", "zorblax quuxley"]


async def test_entities_of_the_best_passages_join_as_anchors_by_rank(services: Services) -> None:
    chunks = await chunk_ids(services)
    hits = ((chunks["York lies in England."], 0.02), (chunks[PAGES["Katherine Mansfield"]], 0.01))
    seeds = await link(services, "Katherine Mansfield", hits=hits)
    assert seeds[0]["via"] == "exact"
    anchors = {seed["name"]: seed["score"] for seed in seeds if seed["via"] == "anchor"}
    assert anchors["York"] == anchors["England"] == ANCHOR_SCORE
    assert anchors["Menton"] == pytest.approx(ANCHOR_SCORE / 2)
    assert "Katherine Mansfield" not in anchors, "what the question names is no mere anchor"
    fewer = await link(services, "Katherine Mansfield", hits=hits, anchor_passages=1)
    assert "Menton" not in named(fewer)
    none = await link(services, "Katherine Mansfield", hits=hits, anchor_passages=0)
    assert set(named(none).values()) == {"exact"}


async def test_synonyms_are_linked_at_a_discount_and_only_those_that_were_kept(
    services: Services,
) -> None:
    seed = (await link(services, "York"))[0]
    tried = [
        {"seed": "York", "text": "IBM", "cosine": 0.9, "kept": True},
        {"seed": "York", "text": "Guybrush", "cosine": 0.9, "kept": True},
        {"seed": "York", "text": "York", "cosine": 1.0, "kept": True},
        {"seed": "York", "text": "Katherine Mansfield", "cosine": 0.2, "kept": False},
    ]
    state = {"synonyms_tried": True, "synonyms": tried, "seeds": [seed], "entities": []}
    seeds = await link(services, state={**state, "expanded": True}, synonym_discount=0.4)
    assert named(seeds) == {
        "York": "exact",
        "International Business Machines": "synonym",
        "Guybrush Threepwood": "synonym",
    }
    by_name = {s["name"]: s["score"] for s in seeds}
    assert by_name["York"] == 1.0
    assert by_name["International Business Machines"] == pytest.approx(0.95 * 0.4)
    assert by_name["Guybrush Threepwood"] < 0.4


async def chunk_ids(services: Services) -> dict[str, int]:
    async with services.database.connection() as connection:
        cursor = await connection.execute("select text, id from chunks")
        return {row["text"]: row["id"] for row in await cursor.fetchall()}


async def test_what_was_looked_up_is_known_until_the_namespace_changes(services: Services) -> None:
    fresh = replace(services, links=Cache("links", 10))
    known = scope_of(ACCESS, [7])
    first = await link(fresh, "Katherine Mansfield", "Guybrush", scope=known)
    down = replace(fresh, entities=Faulty(services.entities, find_exact=fails(gone())))
    assert await link(down, "Katherine Mansfield", "Guybrush", scope=known) == first
    assert (fresh.links.hits, fresh.links.misses) == (1, 1)
    for other in (scope_of(ACCESS, [8]), scope_of(Access(("default",), ("ann",)), [7]), None):
        with pytest.raises(StoreUnavailable):
            await link(down, "Katherine Mansfield", "Guybrush", scope=other)


async def test_what_was_looked_up_without_the_encoder_is_not_kept(services: Services) -> None:
    fresh = replace(services, links=Cache("links", 10))
    known = scope_of(ACCESS, [7])
    for _ in range(2):
        await link(fresh, "Katherine Mansfield", scope=known, state={"embedded": False})
    assert fresh.links.hits == 0


async def test_one_callers_names_are_never_anothers_from_the_cache(services: Services) -> None:
    secret = {"id": "secret", "text": "Ulrika Vantablack wrote this.", "acl": ["ann"]}
    await ingest(services, [secret])
    fresh = replace(services, links=Cache("links", 10))
    ann = Access(("default",), ("ann",))
    seeds = await link(fresh, "Ulrika Vantablack", scope=scope_of(ann, [7]), access=ann)
    assert named(seeds) == {"Ulrika Vantablack": "exact"}
    assert await link(fresh, "Ulrika Vantablack", scope=scope_of(ACCESS, [7])) == []


async def test_a_general_question_starts_from_the_document_it_is_asked_in(
    services: Services,
) -> None:
    where = {"request": {"document_id": "Margaret of York.md", "discover": False}}
    seeds = await link(services, state=where)
    assert {seed["via"] for seed in seeds} == {"anchor"}
    assert {"Margaret of York", "Charles the Bold", "Damme"} <= set(named(seeds))
    assert seeds[0]["score"] == ANCHOR_SCORE
    about = {**where, "traversal": {"intent": "relational"}}
    assert await link(services, state=about) == [], "another kind of question does not"


async def test_a_document_that_may_not_be_read_anchors_nothing(services: Services) -> None:
    hidden = {"id": "diary", "text": "Ottoline Quartz met Damme.", "acl": ["bob"]}
    await ingest(services, [hidden])
    where = {"request": {"document_id": "diary", "discover": False}}
    assert await link(services, state=where) == []


async def test_synonyms_that_find_nothing_leave_the_anchors(services: Services) -> None:
    (passage,) = await services.chunks.of_document("York.md", access=ACCESS)
    tried: dict[str, Any] = {
        "synonyms_tried": True,
        "synonyms": [{"seed": "x", "text": "Guybrush Threepwood", "cosine": 0.9, "kept": True}],
        "seeds": [],
        "entities": [],
    }
    seeds = await link(services, state=tried, hits=((passage["id"], 1.0),))
    assert seeds[0]["via"] == "synonym"
    assert {seed["name"] for seed in seeds if seed["via"] == "anchor"} >= {"York", "England"}
