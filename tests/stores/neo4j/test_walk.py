"""The walk brings exactly what going every path would."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.neo4j.connection import Neo4jConnection
from clew.stores.neo4j.dialect import Neo4j5
from clew.stores.neo4j.graph import Neo4jGraphStore
from clew.stores.projected import ProjectedRelationship
from clew.stores.records import ReachedEntity
from clew.stores.walk import HOP_FACTORS, Walk

from .conftest import Graph
from .scene import DAYS, TYPES, Scene, audiences_of, random_scene

SCENES = 16
EVERYTHING = Access(("main", "other"), ("ada",))
OpenGraph = Callable[..., Awaitable[Graph]]


def told(entities: list[ReachedEntity]) -> list[Any]:
    return [
        (
            row["id"],
            row["hop"],
            row["score"],
            row["seed"],
            [(s["source"], s["type"], s["target"], s["weight"]) for s in row["path"]],
        )
        for row in entities
    ]


def random_walk(pick: random.Random) -> Walk:
    types = {name: pick.choice([0.0, 0.25, 0.5, 1.0]) for name in TYPES if pick.random() < 0.5}
    return Walk(
        hops=pick.randint(1, 3),
        limit=pick.choice([1, 2, 3, 5, 8, 200]),
        type_weights=types,
        default_weight=pick.choice([0.0, 0.5, 1.0, 1.0]),
        date_from=pick.choice([None, None, *DAYS]),
        date_to=pick.choice([None, None, *DAYS]),
    )


def random_seeds(pick: random.Random, scene: Scene) -> dict[int, float]:
    ids = pick.sample([row["id"] for row in scene.entities], pick.randint(1, 4))
    return {id_: pick.choice([1.0, 0.5, 0.25, pick.random() or 1.0]) for id_ in ids}


def random_access(pick: random.Random) -> Access:
    namespaces = pick.choice([("main",), ("other",), ("main", "other"), ()])
    return Access(namespaces, pick.choice([(), ("ada",), ("bob",)]))


@pytest.mark.parametrize("number", range(SCENES))
async def test_expand_brings_exactly_the_best_of_all_paths(graph: Graph, number: int) -> None:
    scene = random_scene(number)
    await scene.put(graph.projection)
    pick = random.Random(1000 + number)
    compared = 0
    for _ in range(25):
        walk, seeds, access = random_walk(pick), random_seeds(pick, scene), random_access(pick)
        reached = await graph.store.expand(seeds, walk=walk, access=access)
        expected = scene.expected_walk(seeds, walk, access)
        assert told(reached) == expected, (seeds, walk, access)
        compared += len(expected)
    assert compared


@pytest.fixture
async def small(graph: Graph) -> tuple[Graph, Scene]:
    """Five readable entities and no relation yet."""
    scene = random_scene(0, relations=0)
    audience = audiences_of(scene, "main")[1]
    scene.entities = [
        {"id": id_, "namespace": "main", "name": name, "type": "person", "df": 1}
        for id_, name in enumerate(["Ada", "Bob", "Cleo", "Dan", "Eve"], start=1)
    ]
    scene.documents = [
        {
            "id": 1,
            "namespace": "main",
            "audience": audience,
            "mentions": [
                {"chunk": 1, "entity": id_, "count": 1, "subject": False, "chunk_entities": 5}
                for id_ in range(1, 6)
            ],
        }
    ]
    await scene.put(graph.projection)
    return graph, scene


def relation(
    id_: int, source: int, target: int, weight: float, *, type_: str = "knows", audience: int = 2
) -> ProjectedRelationship:
    return ProjectedRelationship(
        id=id_,
        namespace="main",
        source=source,
        target=target,
        type=type_,
        weight=weight,
        confidence=1.0,
        count=1,
        first_seen=None,
        last_seen=None,
        audiences=[audience],
        evidence=[1],
        evidence_audiences=[audience],
    )


async def test_the_cap_counts_entities_and_not_the_relations_to_them(
    small: tuple[Graph, Scene],
) -> None:
    graph, _ = small
    many = [relation(id_, 1, 2, 0.9, type_=f"kind {id_}") for id_ in range(1, 9)]
    many += [relation(id_, 2, 1, 0.9, type_=f"kind {id_}") for id_ in range(11, 19)]
    await graph.projection.put_relationships([*many, relation(20, 1, 3, 0.1)])
    reached = await graph.store.expand({1: 1.0}, walk=Walk(limit=2), access=EVERYTHING)
    assert [(row["id"], row["score"]) for row in reached] == [(1, 1.0), (2, 0.9), (3, 0.1)]


async def test_strong_ties_to_other_seeds_do_not_take_the_place_of_a_weak_one(
    small: tuple[Graph, Scene],
) -> None:
    graph, _ = small
    await graph.projection.put_relationships(
        [relation(1, 1, 2, 0.9), relation(2, 1, 3, 0.8), relation(3, 1, 4, 0.01)]
    )
    walk = Walk(limit=1)
    reached = await graph.store.expand({1: 1.0, 2: 1.0, 3: 1.0}, walk=walk, access=EVERYTHING)
    assert [row["id"] for row in reached] == [1, 2, 3, 4]


async def test_a_seed_that_a_better_path_leads_to_takes_it_and_a_place(
    small: tuple[Graph, Scene],
) -> None:
    graph, _ = small
    await graph.projection.put_relationships([relation(1, 1, 2, 0.5), relation(2, 1, 3, 0.25)])
    reached = await graph.store.expand({1: 1.0, 2: 0.1}, walk=Walk(limit=1), access=EVERYTHING)
    assert [(row["id"], row["hop"], row["score"], row["seed"]) for row in reached] == [
        (1, 0, 1.0, 1),
        (2, 1, 0.5, 1),
    ]
    assert reached[1]["path"] == [
        {"source": "Ada", "type": "knows", "target": "Bob", "weight": 0.5}
    ]


async def test_a_path_is_told_in_the_direction_in_which_it_is_stored(
    small: tuple[Graph, Scene],
) -> None:
    graph, _ = small
    await graph.projection.put_relationships([relation(1, 2, 1, 1.0), relation(2, 2, 3, 1.0)])
    reached = await graph.store.expand({1: 1.0}, walk=Walk(hops=2), access=EVERYTHING)
    assert [(step["source"], step["target"]) for step in reached[-1]["path"]] == [
        ("Bob", "Ada"),
        ("Bob", "Cleo"),
    ]


async def test_of_equal_paths_the_shorter_wins_and_then_the_lower_parent(
    small: tuple[Graph, Scene],
) -> None:
    graph, _ = small
    await graph.projection.put_relationships(
        [relation(1, 1, 3, 1.0), relation(2, 2, 3, 1.0), relation(3, 1, 2, 1.0)]
    )
    reached = await graph.store.expand({2: 1.0, 1: 1.0}, walk=Walk(hops=3), access=EVERYTHING)
    assert [(row["id"], row["hop"], row["seed"]) for row in reached] == [
        (1, 0, 1),
        (2, 0, 2),
        (3, 1, 1),
    ]


async def test_a_longer_path_worth_as_much_as_the_last_of_the_best_is_not_pruned(
    small: tuple[Graph, Scene],
) -> None:
    graph, _ = small
    assert 1.0 * 0.5 * HOP_FACTORS[2] == 0.3
    await graph.projection.put_relationships(
        [relation(1, 1, 2, 1.0), relation(2, 1, 5, 0.3), relation(3, 2, 3, 0.5)]
    )
    reached = await graph.store.expand({1: 1.0}, walk=Walk(hops=2, limit=2), access=EVERYTHING)
    assert [(row["id"], row["score"]) for row in reached] == [(1, 1.0), (2, 1.0), (3, 0.3)]


async def test_a_loop_leads_nowhere(small: tuple[Graph, Scene]) -> None:
    graph, _ = small
    await graph.projection.put_relationships([relation(1, 1, 1, 1.0), relation(2, 1, 2, 0.5)])
    reached = await graph.store.expand({1: 1.0}, walk=Walk(hops=3), access=EVERYTHING)
    assert [row["id"] for row in reached] == [1, 2]


async def test_unknown_seeds_are_skipped(small: tuple[Graph, Scene]) -> None:
    graph, _ = small
    assert await graph.store.expand({99: 1.0}, walk=Walk(), access=EVERYTHING) == []
    [only] = await graph.store.expand({99: 1.0, 4: 0.5}, walk=Walk(), access=EVERYTHING)
    assert only["id"] == 4
    assert only["score"] == 0.5


async def test_no_seeds_ask_nothing() -> None:
    nowhere = Neo4jGraphStore(Neo4jConnection("bolt://127.0.0.1:1", dialect=Neo4j5()))
    assert await nowhere.expand({}, walk=Walk(), access=EVERYTHING) == []
    assert await nowhere.mentions_of({}, limit=5, always=[1], access=EVERYTHING) == []
    assert await nowhere.relationships_among([], limit=5, access=EVERYTHING) == []


@pytest.mark.parametrize("weight", [0.0, -0.5, 1.5, float("nan"), float("inf")])
async def test_a_weight_out_of_range_is_refused_before_anything_is_asked(weight: float) -> None:
    nowhere = Neo4jGraphStore(Neo4jConnection("bolt://127.0.0.1:1", dialect=Neo4j5()))
    with pytest.raises(InvalidInput, match="entity 7"):
        await nowhere.expand({7: weight}, walk=Walk(), access=EVERYTHING)
    with pytest.raises(InvalidInput, match="entity 7"):
        await nowhere.mentions_of({7: weight}, limit=5, always=[], access=EVERYTHING)


async def test_the_smallest_scores_are_walked_without_harm(small: tuple[Graph, Scene]) -> None:
    graph, _ = small
    await graph.projection.put_relationships([relation(1, 1, 2, 5e-324), relation(2, 1, 3, 1.0)])
    reached = await graph.store.expand({1: 5e-324}, walk=Walk(hops=3), access=EVERYTHING)
    assert [row["id"] for row in reached] == [1, 3]
