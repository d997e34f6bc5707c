"""Mentions and relations, and what a stranger gets to see."""

from __future__ import annotations

import json
import random

import pytest
from neo4j.exceptions import ClientError

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.neo4j.connection import Neo4jTransaction
from clew.stores.walk import Walk
from clew.tests.bolt_server import Target

from .conftest import Graph
from .scene import Scene, random_scene
from .test_walk import random_access

NOBODY = Access(("main", "other"))


@pytest.fixture(params=range(4))
async def scene(request: pytest.FixtureRequest, graph: Graph) -> Scene:
    made = random_scene(request.param)
    await made.put(graph.projection)
    return made


async def test_mentions_are_those_in_the_heaviest_chunks_and_in_the_ones_always_wanted(
    graph: Graph, scene: Scene
) -> None:
    pick = random.Random(7)
    chunks = [mention["chunk"] for row in scene.documents for mention in row["mentions"]]
    for _ in range(25):
        access = random_access(pick)
        ids = pick.sample([row["id"] for row in scene.entities], pick.randint(1, 6))
        weights = {id_: pick.choice([1.0, 0.5, 0.25]) for id_ in ids}
        limit = pick.choice([0, 1, 2, 4, 100])
        always = [*pick.sample(chunks, 2), 12345]
        mentions = await graph.store.mentions_of(weights, limit=limit, always=always, access=access)
        assert mentions == scene.expected_mentions(weights, limit, always, access)


async def test_relations_are_the_heaviest_with_both_ends_given(graph: Graph, scene: Scene) -> None:
    pick = random.Random(8)
    for _ in range(25):
        access = random_access(pick)
        ids = pick.sample([row["id"] for row in scene.entities], pick.randint(2, 10))
        limit = pick.choice([0, 1, 3, 100])
        rows = await graph.store.relationships_among([*ids, 999], limit=limit, access=access)
        assert rows == scene.expected_relationships(ids, limit, access)


async def test_asking_for_the_other_tenant_s_ids_tells_nothing_of_them(
    graph: Graph, scene: Scene
) -> None:
    everyone = {row["id"]: 1.0 for row in scene.entities}
    chunks = list(range(1, 200))
    for access in (Access(("main",), ("ada",)), Access(("main",)), Access((), ("ada",)), NOBODY):
        visible = scene.visible(access)
        hidden = [row["name"] for row in scene.entities if row["id"] not in visible]
        assert hidden
        walked = await graph.store.expand(everyone, walk=Walk(hops=3), access=access)
        said = json.dumps([(row["name"], row["path"]) for row in walked])
        assert not [name for name in hidden if f'"{name}"' in said]
        mentions = await graph.store.mentions_of(everyone, limit=100, always=chunks, access=access)
        assert {row["entity"] for row in mentions} <= set(visible)
        relations = await graph.store.relationships_among(list(everyone), limit=100, access=access)
        assert {end for row in relations for end in (row["source"], row["target"])} <= set(visible)
        readable = scene.readable(access)
        allowed = {
            (row["id"], chunk)
            for row in scene.relationships
            for chunk, audience in zip(row["evidence"], row["evidence_audiences"], strict=True)
            if audience in readable
        }
        assert {(row["id"], chunk) for row in relations for chunk in row["evidence"]} <= allowed


async def test_what_looks_like_a_statement_is_only_a_value(graph: Graph, scene: Scene) -> None:
    await graph.projection.put_entities(
        [{**scene.entities[0], "name": "x'}) DETACH DELETE n //", "type": "A:B`{}"}]
    )
    attack = Access(("main') OR true //",), ("public' OR '1'='1", ""))
    assert await graph.store.expand({1: 1.0}, walk=Walk(), access=attack) == []
    walk = Walk(type_weights={"x']) > 0 OR true //": 1.0}, default_weight=0.0)
    access = Access(("main", "other"), ("ada",))
    reached = await graph.store.expand({1: 1.0, 2: 1.0}, walk=walk, access=access)
    assert all(row["hop"] == 0 for row in reached)
    assert len(await graph.projection.read("entity", after=0, limit=100)) == len(scene.entities)


async def test_half_a_character_is_the_caller_s_mistake(graph: Graph) -> None:
    with pytest.raises(InvalidInput, match="text"):
        await graph.store.expand({1: 1.0}, walk=Walk(), access=Access(("\ud800",)))
    await graph.store.healthy()


async def test_principals_are_compared_as_they_are_written(graph: Graph) -> None:
    scene = random_scene(1)
    odd = ["a b", "", "%", "ä/ö", "a\nb", "ada,bob"]
    for row in scene.audiences:
        row["principals"] = odd
    await scene.put(graph.projection)
    assert (await graph.projection.read("audience", after=0, limit=1))[0]["principals"] == odd
    everyone = {row["id"]: 1.0 for row in scene.entities}
    for principal in odd:
        access = Access(("main",), (principal,))
        assert await graph.store.expand(everyone, walk=Walk(), access=access)
    for principal in ("a", "b", "%25", "ada", " "):
        access = Access(("main",), (principal,))
        assert await graph.store.expand(everyone, walk=Walk(), access=access) == []


async def test_what_reads_cannot_write(graph: Graph, target: Target) -> None:
    if target.server is not None:
        pytest.skip("ArcadeDB takes no notice of the mode of a transaction; set NEO4J_URI")

    async def write(transaction: Neo4jTransaction) -> None:
        await transaction.run("CREATE (:Entity {id: 1})", {})

    with pytest.raises(ClientError):
        await graph.connection.read(write)


async def test_the_store_is_healthy(graph: Graph) -> None:
    await graph.store.healthy()
