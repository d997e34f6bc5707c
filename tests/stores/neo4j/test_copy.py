"""The record in PostgreSQL and its copy over Bolt: what is noted arrives, whatever happens."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from clew.stores.errors import StoreUnavailable
from clew.stores.neo4j.projection import Neo4jProjection
from clew.stores.postgres.outbox import PostgresOutbox
from clew.stores.projecting import compare, send
from clew.stores.walk import Walk
from clew.tests.stores.postgres.conftest import Stores
from clew.tests.stores.postgres.drafts import history, reader, story

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
