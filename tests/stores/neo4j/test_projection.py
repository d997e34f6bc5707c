"""The copy: what is put is what is read, however often, and nobody else's."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from clew.stores.access import Access
from clew.stores.neo4j.connection import Neo4jTransaction
from clew.stores.neo4j.dialect import Neo4j5
from clew.stores.neo4j.projection import BATCH
from clew.stores.projected import ProjectedKind
from clew.stores.walk import Walk
from clew.tests.bolt_server import Target

from .conftest import Graph
from .scene import Scene, random_scene

KINDS: tuple[ProjectedKind, ...] = ("audience", "entity", "relationship", "document")
OpenGraph = Callable[..., Awaitable[Graph]]


async def everything(graph: Graph) -> dict[str, list[dict[str, Any]]]:
    return {kind: await graph.projection.read(kind, after=-1, limit=10_000) for kind in KINDS}


def as_put(scene: Scene) -> dict[str, list[Any]]:
    return {
        "audience": scene.audiences,
        "entity": scene.entities,
        "relationship": scene.relationships,
        "document": scene.documents,
    }


async def test_what_is_read_is_what_was_put(graph: Graph) -> None:
    scene = random_scene(3)
    before = copy.deepcopy(as_put(scene))
    await scene.put(graph.projection)
    assert await everything(graph) == before
    assert as_put(scene) == before


async def test_putting_twice_is_putting_once(graph: Graph) -> None:
    scene = random_scene(4)
    await scene.put(graph.projection)
    await graph.projection.prepare()
    await scene.put(graph.projection)
    assert await everything(graph) == as_put(scene)

    async def count(transaction: Neo4jTransaction) -> list[dict[str, Any]]:
        return await transaction.run(
            "MATCH (:Entity)-[r:RELATES_TO]->(:Entity) WITH count(r) AS relations "
            "MATCH (:Entity)-[m:MENTIONED_IN]->(:Chunk) RETURN relations, count(m) AS mentions",
            {},
        )

    mentions = sum(len(row["mentions"]) for row in scene.documents)
    [counted] = await graph.connection.read(count)
    assert counted == {"relations": len(scene.relationships), "mentions": mentions}


@pytest.mark.parametrize("kind", KINDS)
async def test_pages_join_to_the_whole(graph: Graph, kind: ProjectedKind) -> None:
    scene = random_scene(5)
    await scene.put(graph.projection)
    rows: list[dict[str, Any]] = []
    while page := await graph.projection.read(kind, after=rows[-1]["id"] if rows else 0, limit=3):
        assert len(page) <= 3
        rows += page
    assert rows == as_put(scene)[kind]


async def test_putting_overwrites(graph: Graph) -> None:
    scene = random_scene(6)
    await scene.put(graph.projection)
    scene.audiences[0] = {**scene.audiences[0], "principals": ["eve"]}
    scene.entities[0] = {**scene.entities[0], "name": "Renamed", "type": "ship", "df": 99}
    ends = [row["id"] for row in scene.entities if row["namespace"] == "main"]
    first = scene.relationships[0]
    scene.relationships[0] = {
        **first,
        "namespace": "main",
        "source": ends[1],
        "target": ends[2],
        "type": "likes",
        "weight": 0.0625,
        "first_seen": None,
        "last_seen": None,
        "audiences": [],
        "evidence": [],
        "evidence_audiences": [],
    }
    await scene.put(graph.projection)
    assert await everything(graph) == as_put(scene)


async def test_putting_a_document_replaces_all_its_mentions(graph: Graph) -> None:
    scene = random_scene(7)
    scene.documents = [row for row in scene.documents if row["mentions"]]
    await scene.put(graph.projection)
    first, second = scene.documents[:2]
    other = first["mentions"][0]["entity"]
    scene.documents[0] = {
        **first,
        "audience": second["audience"],
        "mentions": [
            {"chunk": 900, "entity": other, "count": 2, "subject": True, "chunk_entities": 1}
        ],
    }
    scene.documents[1] = {**second, "mentions": []}
    await graph.projection.put_documents(scene.documents[:2])
    assert await everything(graph) == as_put(scene)


async def test_what_names_an_unknown_end_is_skipped_until_it_is_there(graph: Graph) -> None:
    scene = random_scene(8)
    missing = scene.entities.pop()
    await scene.put(graph.projection)
    found = await everything(graph)
    known = {row["id"] for row in scene.entities}
    assert found["relationship"] == [
        row for row in scene.relationships if {row["source"], row["target"]} <= known
    ]
    assert not [
        mention
        for row in found["document"]
        for mention in row["mentions"]
        if mention["entity"] == missing["id"]
    ]
    scene.entities.append(missing)
    await scene.put(graph.projection)
    assert await everything(graph) == as_put(scene)


async def test_an_entity_takes_its_relations_and_mentions_along(graph: Graph) -> None:
    scene = random_scene(9)
    await scene.put(graph.projection)
    gone = scene.entities.pop(0)["id"]
    await graph.projection.remove("entity", [gone, 4711])
    found = await everything(graph)
    assert found["entity"] == scene.entities
    assert found["relationship"] == [
        row for row in scene.relationships if gone not in (row["source"], row["target"])
    ]
    assert [len(row["mentions"]) for row in found["document"]] == [
        sum(mention["entity"] != gone for mention in row["mentions"]) for row in scene.documents
    ]


@pytest.mark.parametrize("kind", ["audience", "relationship", "document"])
async def test_removing_takes_out_what_is_named_and_no_more(
    graph: Graph, kind: ProjectedKind
) -> None:
    scene = random_scene(10)
    await scene.put(graph.projection)
    rows = as_put(scene)[kind]
    gone = {rows[0]["id"], rows[-1]["id"], 4711}
    await graph.projection.remove(kind, sorted(gone))
    await graph.projection.remove(kind, [])
    expected = as_put(scene)
    expected[kind] = [row for row in rows if row["id"] not in gone]
    assert await everything(graph) == expected


async def test_what_only_a_removed_document_bore_out_can_no_longer_be_read(graph: Graph) -> None:
    scene = random_scene(11)
    await scene.put(graph.projection)
    everyone = {row["id"]: 1.0 for row in scene.entities}
    access = Access(("main", "other"), ("ada",))
    assert await graph.store.expand(everyone, walk=Walk(), access=access)
    await graph.projection.remove("document", [row["id"] for row in scene.documents])
    assert await graph.store.expand(everyone, walk=Walk(), access=access) == []


async def test_more_than_a_batch_lands_whole(graph: Graph) -> None:
    count = BATCH * 2 + 7
    scene = Scene(
        audiences=[{"id": 1, "namespace": "main", "principals": ["public"]}],
        entities=[
            {"id": id_, "namespace": "main", "name": f"n{id_}", "type": "x", "df": 1}
            for id_ in range(count, 0, -1)
        ],
        documents=[
            {
                "id": 1,
                "namespace": "main",
                "audience": 1,
                "mentions": [
                    {"chunk": id_, "entity": id_, "count": 1, "subject": False, "chunk_entities": 1}
                    for id_ in range(1, count + 1)
                ],
            }
        ],
    )
    await scene.put(graph.projection)
    found = await everything(graph)
    assert [row["id"] for row in found["entity"]] == list(range(1, count + 1))
    assert found["document"] == scene.documents


async def test_two_writers_at_once_end_in_one_graph(open_graph: OpenGraph) -> None:
    graph = await open_graph()
    scene = random_scene(16)
    await asyncio.gather(*[scene.put(graph.projection) for _ in range(2)])
    assert await everything(graph) == as_put(scene)


async def test_prefixes_keep_graphs_apart(open_graph: OpenGraph) -> None:
    one, two = await open_graph(), await open_graph()
    scene = random_scene(12)
    await scene.put(one.projection)
    assert await everything(two) == {kind: [] for kind in KINDS}
    everyone = {row["id"]: 1.0 for row in scene.entities}
    assert await two.store.expand(everyone, walk=Walk(), access=Access(("main",))) == []
    await two.projection.remove("entity", list(everyone))
    await random_scene(13).put(two.projection)
    await two.clear()
    assert await everything(one) == as_put(scene)


async def test_a_graph_without_a_prefix_works_as_well(
    open_graph: OpenGraph, target: Target
) -> None:
    if target.server is None:
        pytest.skip("without a prefix, clearing up would empty somebody's database")
    plain = await open_graph(prefix="")
    scene = random_scene(14)
    await scene.put(plain.projection)
    assert await everything(plain) == as_put(scene)


async def test_a_batch_that_fails_leaves_nothing_behind(open_graph: OpenGraph) -> None:
    graph = await open_graph()
    scene = random_scene(15)
    await scene.put(graph.projection)
    broken = copy.deepcopy(scene.documents)
    broken[0]["mentions"] = [cast("Any", {"chunk": 1, "entity": 1})]
    with pytest.raises(KeyError):
        await graph.projection.put_documents(broken)

    async def half(transaction: Neo4jTransaction) -> None:
        await transaction.run("MATCH (n:Entity) DETACH DELETE n", {})
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        await graph.connection.write(half)
    assert isinstance(graph.connection.dialect, Neo4j5)
    assert await everything(graph) == as_put(scene)
