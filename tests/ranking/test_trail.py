"""How a trail is told: from the question's words over the walk to the passage."""

from __future__ import annotations

from typing import Any, cast

import pytest

from clew.ranking.strategies import RANKINGS
from clew.ranking.trail import known_of, label, standings, thread_of, trail_of
from clew.state import Candidate, RankedPassage, RetrievalState

STEP = {"source": "Lou", "type": "MARRIED", "target": "Marion", "weight": 0.5}


def signals(**given: Any) -> Any:
    ranks = dict.fromkeys(f"{name}_rank" for name in RANKINGS)
    return {"dense": 0.25, "bm25": 0.0, "graph": 0.5, **ranks, **given}


def entity(id_: int, name: str, *, seed: int, path: Any = ()) -> Any:
    return {
        "id": id_,
        "name": name,
        "hop": len(path),
        "score": 0.123456,
        "seed": seed,
        "path": list(path),
    }


def seed(id_: int, name: str, via: str, mention: str) -> Any:
    return {"id": id_, "name": name, "via": via, "mention": mention, "score": 0.5}


def ranked(id_: int, matched: list[int], **given: Any) -> Any:
    plain = {
        "passage": {"id": id_, "title": f"Title {id_}"},
        "score": 1.0,
        "signals": signals(),
        "stages": {},
        "strategy": None,
        "scaled": {},
        "weights": {},
        "contributions": {},
        "matched": matched,
        "links": [],
        "reranker": None,
    }
    return {**plain, **given}


def state(**given: Any) -> RetrievalState:
    empty: dict[str, Any] = {
        name: [] for name in ("entities", "seeds", "synonyms", "entity_passages", "ranked")
    }
    return cast("RetrievalState", {**empty, **given})


def entities_of(run: RetrievalState, passage: RankedPassage, *, returned: int = 2) -> Any:
    return trail_of(passage, known_of(run, run["ranked"][:returned]))["entities"]


def test_a_path_begins_with_the_words_of_the_question() -> None:
    passage = ranked(1, [20])
    run = state(
        ranked=[passage],
        entities=[entity(10, "Lou", seed=10), entity(20, "Marion", seed=10, path=[STEP])],
        seeds=[seed(10, "Lou", "typo", "Luo Breslow")],
    )
    (found,) = entities_of(run, passage)
    assert found["origin"] == {
        "name": "Lou",
        "via": "typo",
        "score": 0.5,
        "words": "Luo Breslow",
        "synonym_of": None,
        "rank": None,
        "title": None,
    }
    assert (found["name"], found["hop"], found["score"]) == ("Marion", 1, 0.1235)
    assert found["path"] == [STEP]


def test_a_synonym_says_what_it_stands_for() -> None:
    passage = ranked(1, [10])
    tried = [
        {"seed": "gravity", "text": "gravitation", "cosine": 0.9, "kept": True},
        {"seed": "apple", "text": "fruit", "cosine": 0.3, "kept": False},
    ]
    run = state(
        ranked=[passage],
        entities=[entity(10, "Gravitation", seed=10)],
        seeds=[seed(10, "Gravitation", "synonym", "gravitation")],
        synonyms=tried,
    )
    (found,) = entities_of(run, passage)
    assert (found["origin"]["words"], found["origin"]["synonym_of"]) == ("gravitation", "gravity")


@pytest.mark.parametrize(
    ("hit", "rank", "title"), [(2, 2, "Title 2"), (3, None, "Title 3"), (77, None, None)]
)
def test_an_anchor_is_named_by_the_number_or_the_title_of_its_passage(
    hit: int, rank: int | None, title: str | None
) -> None:
    passage = ranked(1, [10])
    run = state(
        ranked=[passage, ranked(2, []), ranked(3, [])],
        entities=[entity(10, "Lou", seed=10)],
        seeds=[seed(10, "Lou", "anchor", f"passage {hit}")],
    )
    (found,) = entities_of(run, passage)
    origin = found["origin"]
    assert (origin["via"], origin["words"]) == ("anchor", None)
    assert (origin["rank"], origin["title"]) == (rank, title)


def test_how_the_passage_mentions_an_entity_is_said_where_it_is_known() -> None:
    passage = ranked(1, [10, 20])
    everybody = [entity(10, "Lou", seed=10), entity(20, "Marion", seed=20)]
    counted = {"id": 1, "matched": [10, 20], "counts": [3, 1], "subjects": [20]}
    run = state(ranked=[passage], entities=everybody, entity_passages=[counted])
    said = [(e["count"], e["subject"]) for e in entities_of(run, passage)]
    assert said == [(3, False), (1, True)]
    for unknown in ([], [{**counted, "id": 9}]):
        run = state(ranked=[passage], entities=everybody, entity_passages=unknown)
        assert {(e["count"], e["subject"]) for e in entities_of(run, passage)} == {(None, None)}


def test_the_best_paths_are_shown_and_entities_that_were_cut_are_not() -> None:
    passage = ranked(1, list(range(100, 120)))
    held = [entity(id_, f"E{id_}", seed=id_) for id_ in range(101, 120)]
    found = entities_of(state(ranked=[passage], entities=held), passage)
    assert [e["name"] for e in found] == ["E101", "E102", "E103", "E104", "E105"]
    assert {e["origin"] for e in found} == {None}, "no seed is known"


def test_links_name_their_source_by_its_number_among_the_documents() -> None:
    links = [
        {"source": source, "title": "T", "entity": "E", "kind": "titled", "strength": 0.5}
        for source in (2, 3)
    ]
    passage = ranked(1, [], links=links)
    run = state(ranked=[ranked(2, []), passage, ranked(3, [])])
    trail = trail_of(passage, known_of(run, run["ranked"][:2]))
    assert [link["rank"] for link in trail["links"]] == [1, None]
    assert trail["rank"] == 2


def test_a_candidate_stands_in_the_searches_that_found_it_and_in_the_first_stage() -> None:
    candidate = Candidate(
        id=1, signals=signals(dense_rank=26, graph_rank=2), matched=[], stage=0.1234567
    )
    assert standings(candidate, 21) == {
        "dense": {"rank": 26, "score": 0.25},
        "graph": {"rank": 2, "score": 0.5},
        "first_stage": {"rank": 21, "score": 0.123457},
    }


def test_the_thread_is_one_line_of_searches_walk_and_link() -> None:
    link = {"source": 2, "title": "T", "entity": "Marion", "kind": "titled", "strength": 0.5}
    stages = {"dense": {"rank": 26, "score": 0.3}, "bm25": {"rank": 41, "score": 1.0}}
    passage = ranked(1, [20], links=[link], stages=stages)
    entities = {20: entity(20, "Marion", seed=10, path=[STEP])}
    walked = "vector #26 · BM25 #41 · walked Lou —MARRIED→ Marion"
    assert thread_of(passage, entities, {2: 1}) == f"{walked} · from [1] through Marion"
    assert thread_of(passage, entities, {}) == f"{walked} · from T through Marion"
    assert thread_of(ranked(1, []), {}, {}) == ""


def test_every_stage_has_a_name_for_people() -> None:
    trail = trail_of(ranked(1, []), known_of(state(), []))
    assert [label(stage) for stage in trail["stages"]] == [
        "vector", "BM25", "graph", "first stage", "fused with links", "cross-encoder"
    ]  # fmt: skip
    assert set(trail["stages"].values()) == {None}
