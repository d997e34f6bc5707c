"""The record in PostgreSQL and its copy over Bolt: what is noted arrives, whatever happens."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from clew.graph.steps import INSTEAD
from clew.services import Services
from clew.stores.errors import StoreUnavailable
from clew.stores.neo4j.projection import Neo4jProjection
from clew.stores.postgres.outbox import PostgresOutbox
from clew.stores.projecting import compare, send
from clew.stores.records import CO_OCCURS
from clew.stores.walk import Walk
from clew.tests.bolt_server import Target, random_prefix
from clew.tests.conftest import OpenTestServices
from clew.tests.graph.scene import (
    WORLD,
    ask,
    breaker,
    fails,
    gone,
    ingest,
    patient,
    with_faults,
)
from clew.tests.stores.postgres.conftest import Stores
from clew.tests.stores.postgres.drafts import chunk, document, history, reader, relation, story

from .conftest import Graph

EVERYONE = reader("ada", "bob")


def silent(_: int) -> None:
    """Nobody watches."""


class Failing:
    """A projection that answers so many times, then no more."""

    def __init__(self, projection: Neo4jProjection, answers: int) -> None:
        self._projection = projection
        self._left = answers

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._projection, name)

        async def answer(*args: Any, **kwargs: Any) -> Any:
            if self._left == 0:
                raise StoreUnavailable("Nobody answers.")
            self._left -= 1
            return await method(*args, **kwargs)

        return answer


@pytest.fixture
async def record(dsn: str) -> AsyncIterator[Stores]:
    opened = Stores.on(dsn)
    yield opened
    await opened.database.close()


@pytest.fixture
def outbox(record: Stores) -> PostgresOutbox:
    return PostgresOutbox(record.database)


@pytest.fixture
async def copy(open_graph: Callable[..., Any]) -> Graph:
    graph: Graph = await open_graph()
    return graph


async def live(record: Stores, rng: random.Random) -> None:
    """A few documents come, change and go."""
    for _ in range(4):
        if rng.random() < 0.3:
            await record.documents.delete([rng.choice("abcd")], access=reader())
        else:
            await record.write(history(rng))


@pytest.mark.parametrize("seed", range(3))
async def test_after_any_history_the_copy_is_the_record(
    record: Stores, outbox: PostgresOutbox, copy: Graph, seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(4):
        await live(record, rng)
        await send(outbox, copy.projection, silent)
        assert await outbox.lag() == (0, 0)
        assert await compare(outbox, copy.projection, silent) == []


@pytest.mark.parametrize("seed", range(3))
async def test_a_walk_over_the_copy_is_the_walk_over_the_record(
    record: Stores, outbox: PostgresOutbox, copy: Graph, seed: int
) -> None:
    rng = random.Random(100 + seed)
    for _ in range(3):
        await live(record, rng)
    await send(outbox, copy.projection, silent)
    ids = (await record.entity_ids()).values()
    seeds = {id_: rng.uniform(0.2, 1) for id_ in rng.sample(sorted(ids), min(2, len(ids)))}
    for hops in (1, 2, 3):
        walk = Walk(hops=hops, limit=rng.randint(1, 8), type_weights={"MET": 0.5})
        ours = await record.graph.expand(seeds, walk=walk, access=EVERYONE)
        theirs = await copy.store.expand(seeds, walk=walk, access=EVERYONE)
        assert [entity["id"] for entity in theirs] == [entity["id"] for entity in ours]
        assert [entity["path"] for entity in theirs] == [entity["path"] for entity in ours]
        assert [e["score"] for e in theirs] == pytest.approx([e["score"] for e in ours])


async def test_an_interrupted_sending_goes_on_and_loses_nothing(
    record: Stores, outbox: PostgresOutbox, copy: Graph
) -> None:
    await record.write(story("one"), story("two", acl=("ada",)))
    # One call prepares; each further one may be the last before the copy goes away.
    for answers in range(1, 5):
        with pytest.raises(StoreUnavailable):
            await send(outbox, Failing(copy.projection, answers), silent)
        pending, _ = await outbox.lag()
        assert pending > 0
        await record.write(story("three", acl=("bob",)))
    await send(outbox, copy.projection, silent)
    assert await compare(outbox, copy.projection, silent) == []


async def test_what_was_there_before_the_first_sending_is_sent_with_it(
    record: Stores, outbox: PostgresOutbox, copy: Graph
) -> None:
    await record.write(story())
    assert await outbox.lag() == (0, 0), "nobody asked for notes yet"
    assert await send(outbox, copy.projection, silent) > 0
    assert await compare(outbox, copy.projection, silent) == []


async def test_a_weighing_reaches_the_copy(
    record: Stores, outbox: PostgresOutbox, copy: Graph
) -> None:
    both = [relation("a", CO_OCCURS, "b")]
    await record.write(document("both", chunk("x", ["a", "b"]), relations=both))
    await send(outbox, copy.projection, silent)
    await record.write(*(document(f"{n}", chunk(f"{n}", ["a"])) for n in range(9)))
    await send(outbox, copy.projection, silent)
    (before,) = await copy.projection.read("relationship", after=0, limit=9)
    assert await record.documents.weigh(access=reader()) == 1
    (told,) = await compare(outbox, copy.projection, silent)
    assert (told["kind"], told["what"]) == ("relationship", "another weight")
    await send(outbox, copy.projection, silent)
    assert await compare(outbox, copy.projection, silent) == []
    (after,) = await copy.projection.read("relationship", after=0, limit=9)
    assert after["weight"] == pytest.approx(before["weight"] / 2)


async def test_a_comparison_names_what_is_missing_left_over_and_different(
    record: Stores, outbox: PostgresOutbox, copy: Graph
) -> None:
    await record.write(story())
    await send(outbox, copy.projection, silent)
    ids = await record.entity_ids(["Ada", "Bob", "Turin"])
    await copy.projection.remove("entity", [ids["Ada"]])
    (bob,) = await outbox.load("entity", [ids["Bob"]])
    await copy.projection.put_entities([{**bob, "df": 99}])  # type: ignore[typeddict-item]
    await copy.projection.put_entities([{**bob, "id": 10**6}])  # type: ignore[typeddict-item]
    found = {(d["id"], d["what"]) for d in await compare(outbox, copy.projection, silent)}
    assert {(ids["Ada"], "missing"), (ids["Bob"], "another df"), (10**6, "left over")} <= found
    assert not any(id_ == ids["Turin"] for id_, what in found if what != "another mentions")


async def test_two_senders_do_not_work_at_once(
    record: Stores, outbox: PostgresOutbox, copy: Graph
) -> None:
    async with outbox.sending():
        with pytest.raises(StoreUnavailable, match="Another process is sending"):
            await send(outbox, copy.projection, silent)
    assert await send(outbox, copy.projection, silent) == 0


async def test_a_deleted_document_takes_its_audience_out_of_the_copy(
    record: Stores, outbox: PostgresOutbox, copy: Graph
) -> None:
    await record.write(story(acl=("ada",)))
    await send(outbox, copy.projection, silent)
    assert await copy.projection.read("audience", after=0, limit=9)
    await record.documents.delete(["story"], access=reader())
    await send(outbox, copy.projection, silent)
    for kind in ("audience", "entity", "relationship", "document"):
        assert await copy.projection.read(kind, after=0, limit=9) == []


async def services_with(
    open_test_services: OpenTestServices, target: Target, **settings: Any
) -> Services:
    """Services that walk a copy on the tests' server, under labels of their own."""
    user, password = target.auth
    return await open_test_services(
        **{
            "graph_store": "neo4j",
            "neo4j_uri": target.uri,
            "neo4j_user": user,
            "neo4j_password": SecretStr(password),
            "neo4j_database": target.database,
            "neo4j_seconds": 30,
            "graph_label_prefix": random_prefix(),
            **settings,
        }
    )


async def test_ingestion_keeps_the_copy_true_and_questions_walk_it(
    open_test_services: OpenTestServices, target: Target
) -> None:
    services = await services_with(open_test_services, target)
    report = await ingest(services, WORLD)
    assert (report["pending"], report["degraded"]) == (0, [])
    assert services.projection is not None
    assert await compare(services.outbox, services.projection, silent) == []
    over = await ask(services, "Who married Katherine Mansfield?")
    record = await ask(replace(services, graph=services.record), "Who married Katherine Mansfield?")
    assert not over["degraded"]
    assert [e["path"] for e in over["entities"]] == [e["path"] for e in record["entities"]]
    assert [r["passage"]["id"] for r in over["ranked"]] == [
        r["passage"]["id"] for r in record["ranked"]
    ]
    assert over["relationships"]


async def test_an_outage_of_the_copy_during_ingestion_loses_nothing(
    open_test_services: OpenTestServices, target: Target
) -> None:
    services = await services_with(open_test_services, target)
    await ingest(services, WORLD[:2])
    offline = replace(services, projection=Failing(services.projection, 0))  # type: ignore[arg-type]
    report = await ingest(offline, WORLD[2:])
    assert report["written"] == len(WORLD[2:])
    assert report["pending"] > 0
    assert [entry["stage"] for entry in report["degraded"]] == ["project"]
    assert services.projection is not None
    assert await compare(services.outbox, services.projection, silent)
    await send(services.outbox, services.projection, silent)
    assert await compare(services.outbox, services.projection, silent) == []


async def test_when_the_copy_is_out_the_record_is_walked_if_so_wished(
    open_test_services: OpenTestServices, target: Target
) -> None:
    services = await services_with(open_test_services, target)
    await ingest(services, WORLD)
    question = "Who married Katherine Mansfield?"
    down = with_faults(
        services,
        graph={name: fails(gone()) for name in ("expand", "mentions_of", "relationships_among")},
    )
    without = await ask(down, question)
    assert {entry["stage"] for entry in without["degraded"]} == {
        "expand_graph",
        "map_relationships",
    }
    assert not without["entity_passages"]
    down = replace(down, graph_breaker=breaker())
    instead = await ask(down, question, patient(on_graph_failure="postgres"))
    assert {entry["effect"] for entry in instead["degraded"]} == {INSTEAD}
    assert not any(entry["failed"] for entry in instead["degraded"])
    whole = await ask(services, question)
    assert [r["passage"]["id"] for r in instead["ranked"]] == [
        r["passage"]["id"] for r in whole["ranked"]
    ]
    # With the circuit open nobody asks the copy, and nothing is lost either.
    opened = replace(down, graph_breaker=breaker(is_open=True))
    assert (await ask(opened, question, patient(on_graph_failure="postgres")))["entity_passages"]
    assert (await ask(opened, question))["plan"]["mode"] == "search_only"
