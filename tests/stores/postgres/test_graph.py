"""The walk against every walk there is, and how much it reads for that."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, cast

import pytest

from clew.stores.access import Access
from clew.stores.postgres import graph as walking
from clew.stores.postgres.database import Database
from clew.stores.postgres.graph import PostgresGraphStore
from clew.stores.records import DocumentDraft, ReachedEntity, RelationshipDraft
from clew.stores.walk import Walk

from .conftest import Stores
from .drafts import chunk, document, reader, relation
from .walks import edges, expected, explained

ENOUGH = 1000
LIMITS = (1, 2, 3, 8, ENOUGH)

WEIGHED: list[dict[str, Any]] = [
    {},
    {"type_weights": {"NEAR": 0.5, "NEVER": 0.0, "LIKE": 1.0}},
    {"type_weights": {"NEAR": 0.5, "NEVER": 0.0, "LIKE": 0.9}, "default_weight": 0.3},
    {"type_weights": {"NEAR": 0.25, "KNOWS": 1.0}, "default_weight": 0.0},
    {"type_weights": {"NEVER": 0.0}, "default_weight": 0.7},
    {"type_weights": {"NEVER": 0.0, "LIKE": 0.0}, "default_weight": 0.0},
    {"default_weight": 0.0},
]
PERIODS: list[dict[str, Any]] = [
    {"date_from": "1900-01-02"},
    {"date_to": "1950-01-01"},
    {"date_from": "1950-01-01", "date_to": "1950-01-01"},
    {"date_from": "1960-01-01", "date_to": "1910-01-01"},
]
"""The last is lived through only by what was seen before its end and after its start."""

WHOLE = reader(namespace="one")
READERS = [
    WHOLE,
    reader("ada", namespace="two"),
    reader("ada", "bob", namespace="one"),
    Access(("one", "two"), ("ada", "bob")),
]
ACLS = [["public"], ["public"], ["ada"], ["bob"], ["ada", "bob"], ["bob", "public"], ["eve"]]


class Counting:
    """A database that notes how many relations of a node each step of a walk asks for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.fanouts: list[int] = []

    async def fetch(self, query: Any, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        if "fanout" in params:
            self.fanouts.append(params["fanout"])
        return await self._database.fetch(query, params)


def graph(seed: int) -> list[DocumentDraft]:
    """Documents whose relations make a hub, cycles, parallels, ties, and parts few may read."""
    rng = random.Random(seed)
    names = [f"n{n}" for n in range(rng.choice([4, 8, 14, 30]))]
    drafts = []
    for key in range(rng.randint(5, 14)):
        relations = []
        for _ in range(rng.randint(1, 7)):
            source, target = rng.sample(names, 2)
            source = names[0] if rng.random() < 0.3 and target != names[0] else source
            kind = rng.choice(["NEAR", "LIKE", "NEVER", "KNOWS"])
            confidence = rng.choice([1.0, 1.0, 0.5, 0.9])
            relations.append(relation(source, kind, target, confidence=confidence))
        drafts.append(telling(f"{key}", relations, rng.choice(ACLS), rng.choice(DATES)))
    return drafts


DATES = [None, "1900-01-01", "1950-01-01", "1999-12-31"]


def telling(
    key: str, relations: list[RelationshipDraft], acl: list[str], date: str | None = None
) -> DocumentDraft:
    """A document of one chunk that says just this."""
    ends = dict.fromkeys(end[0] for one in relations for end in (one["source"], one["target"]))
    return document(key, chunk(key, ends), relations=relations, acl=acl, date=date)


async def check(
    stores: Stores, seeds: Mapping[int, float], walk: Walk, access: Access
) -> tuple[list[ReachedEntity], list[int]]:
    """Walk, and hold the outcome against every walk; returns it with how much was asked for."""
    counting = Counting(stores.database)
    store = PostgresGraphStore(cast("Database", counting))
    reached = await store.expand(seeds, walk=walk, access=access)
    wanted = expected(await edges(stores, access), seeds, walk)
    assert [(one["id"], one["score"]) for one in reached] == [
        (id_, arrival.score) for id_, arrival in wanted
    ]
    names = dict(await stores.rows("select id, name from entities"))
    for entity, (_, arrival) in zip(reached, wanted, strict=True):
        explained(entity, seeds, walk, names, arrival)
    return reached, counting.fanouts


@pytest.mark.parametrize("seed", range(8))
async def test_a_walk_finds_the_best_of_all_paths(
    stores: Stores, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In half of them a single node goes ahead of the others, however few they are.
    monkeypatch.setattr(walking, "HEAD", 1 if seed % 2 else 16)
    rng = random.Random(seed)
    await stores.write(*graph(seed), namespace="one")
    await stores.write(*graph(seed + 100), namespace="two")
    everything = [id_ for (id_,) in await stores.rows("select id from entities order by id")]
    found, again = 0, 0
    for access in READERS:
        for how in [*WEIGHED, *PERIODS, {**WEIGHED[2], **PERIODS[0]}]:
            for _ in range(3):
                seeds = {
                    id_: rng.choice([1.0, 0.5, 0.07, 0.003])
                    for id_ in rng.sample(everything, rng.randint(1, 4))
                } | {10**9: 1.0}
                walk = Walk(hops=rng.randint(1, 3), limit=rng.choice(LIMITS), **how)
                reached, fanouts = await check(stores, seeds, walk, access)
                found += sum(one["hop"] > 0 for one in reached)
                again += len({*fanouts}) > 1
    assert found > 50
    assert again > 0, "no step was ever asked for more"


def first(limit: int) -> int:
    """Relations read of a node at first, to bring back so many entities."""
    return limit + limit // 4


async def star(stores: Stores, leaves: int) -> dict[str, int]:
    """A hub with leaves that are all as near, and one that is nearer."""
    names = [f"leaf{n}" for n in range(leaves)]
    random.Random(3).shuffle(names)
    near = relation("hub", "LIKE", "near", evidence=[0, 1])
    rays = [relation("hub", "LIKE", name) for name in names]
    await stores.write(
        document("star", chunk("x", ["hub", "near", *names]), "y", relations=[near, *rays]),
        namespace="one",
    )
    return await stores.entity_ids()


async def test_ties_are_no_reason_to_read_on(stores: Stores) -> None:
    ids = await star(stores, 40)
    for hops in (1, 2, 3):
        for limit in (1, 2, 10, 41, 100):
            _, fanouts = await check(stores, {ids["hub"]: 0.7}, Walk(hops, limit), WHOLE)
            assert {*fanouts} == {first(limit)}


async def test_what_parallel_relations_hide_is_read_after_all(stores: Stores) -> None:
    parallel = [relation("hub", f"KIND {n}", "near") for n in range(6)]
    parallel += [relation("near", f"KIND {n}", "hub") for n in range(6)]
    rays = [relation("hub", "LIKE", f"leaf{n}", confidence=0.5 + n / 100) for n in range(30)]
    await stores.write(telling("one", [*parallel, *rays], ["public"]), namespace="one")
    ids = await stores.entity_ids()
    seeds = {ids["hub"]: 1.0}
    for limit, asked in (
        (1, [1]),
        (2, [2, 8, 32]),
        (3, [3, 12, 48]),
        (4, [5, 20]),
        (40, [50]),
    ):
        _, fanouts = await check(stores, seeds, Walk(limit=limit), WHOLE)
        assert fanouts == asked, limit
        for hops in (2, 3):
            await check(stores, seeds, Walk(hops, limit), WHOLE)
        for how in WEIGHED:
            await check(stores, seeds, Walk(2, limit, **how), WHOLE)
    # One type is probed alone, and has but one relation each way.
    _, fanouts = await check(
        stores, seeds, Walk(limit=2, type_weights={"KIND 0": 1.0, "LIKE": 0.9}), WHOLE
    )
    assert fanouts[:2] == [2, 8]


async def test_seeds_that_need_no_place_hide_nothing(stores: Stores) -> None:
    seeded = [relation("hub", "LIKE", f"seed{n}") for n in range(9)]
    rays = [relation("hub", "LIKE", f"leaf{n}", confidence=0.8) for n in range(20)]
    await stores.write(telling("one", [*seeded, *rays], ["public"]), namespace="one")
    ids = await stores.entity_ids()
    seeds = {id_: 0.9 for name, id_ in ids.items() if name.startswith("seed")} | {ids["hub"]: 0.8}
    for hops in (1, 2, 3):
        for limit in (1, 2, 3, 7):
            _, fanouts = await check(stores, seeds, Walk(hops, limit), WHOLE)
            assert fanouts[:2] == [first(limit), 4 * first(limit)]
    # When the path is the better one, a seed takes a place like everybody.
    weak = dict.fromkeys(seeds, 0.1) | {ids["hub"]: 1.0}
    for limit in (1, 2, 3, 7):
        reached, fanouts = await check(stores, weak, Walk(limit=limit), WHOLE)
        assert sum(one["hop"] == 1 for one in reached) == limit
        assert fanouts == [first(limit)]


async def test_what_a_light_type_weighs_most_does_not_hide_a_heavy_one(stores: Stores) -> None:
    common = [relation("hub", "NEAR", f"near{n}") for n in range(40)]
    rare = [relation("hub", "KNOWS", f"known{n}", confidence=0.2 + n / 100) for n in range(9)]
    await stores.write(telling("one", [*common, *rare], ["public"]), namespace="one")
    ids = await stores.entity_ids()
    for limit in (1, 3, 9, 12):
        for weights, rest in (({"NEAR": 0.1}, 1.0), ({"KNOWS": 1.0}, 0.1), ({"NEAR": 0.0}, 0.5)):
            walk = Walk(limit=limit, type_weights=weights, default_weight=rest)
            reached, _ = await check(stores, {ids["hub"]: 1.0}, walk, WHOLE)
            assert {one["name"][:5] for one in reached[1:10]} == {"known"}


async def test_a_relation_that_many_may_read_is_walked_once(stores: Stores) -> None:
    acls = [["public"], ["ada"], ["bob"], ["ada", "bob"], ["eve"]]
    shared = [relation("hub", "LIKE", f"leaf{n}") for n in range(12)]
    own = [relation("hub", "LIKE", f"own{n}", confidence=0.6) for n in range(5)]
    await stores.write(
        *(telling(f"{n}", [*shared, own[n]], acl) for n, acl in enumerate(acls)), namespace="one"
    )
    ids = await stores.entity_ids()
    for access in (WHOLE, reader("ada", namespace="one"), reader("ada", "bob", namespace="one")):
        for hops in (1, 2, 3):
            for limit in (1, 5, 12, 14, ENOUGH):
                reached, _ = await check(stores, {ids["hub"]: 1.0}, Walk(hops, limit), access)
                assert len({one["id"] for one in reached}) == len(reached)
    names = {one["name"] for one in reached}
    assert {name for name in names if name.startswith("own")} == {f"own{n}" for n in range(4)}


async def test_a_walk_where_everything_is_closed_asks_for_no_relation(stores: Stores) -> None:
    ids = await star(stores, 3)
    for weights in ({}, {"LIKE": 0.0}):
        walk = Walk(3, type_weights=weights, default_weight=0.0)
        reached, fanouts = await check(stores, {ids["hub"]: 1.0}, walk, WHOLE)
        assert ([one["name"] for one in reached], fanouts) == (["hub"], [])
