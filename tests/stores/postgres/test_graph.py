"""The walk against every walk there is, and what ties entities to chunks and to each other."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

import pytest

from clew.stores.access import Access
from clew.stores.postgres.graph import PostgresGraphStore
from clew.stores.records import DocumentDraft, ReachedEntity

from .conftest import Stores
from .drafts import chunk, document, mention, reader, relation

ENOUGH = 1000
HOP_FACTORS = (1.0, 1.0, 0.6, 0.3)
TYPE_WEIGHTS = {"NEAR": 0.5, "NEVER": 0.0, "LIKE": 1.0}


class Edge(NamedTuple):
    start: int
    end: int
    type: str
    weight: float


def graph(seed: int) -> list[DocumentDraft]:
    """Documents whose relations make a hub, cycles, ties, and parts that few may read."""
    rng = random.Random(seed)
    names = [f"n{n}" for n in range(rng.choice([6, 14, 30]))]
    drafts = []
    for key in range(rng.randint(5, 12)):
        relations = []
        for _ in range(rng.randint(1, 6)):
            source, target = rng.sample(names, 2)
            source = names[0] if rng.random() < 0.3 and target != names[0] else source
            kind = rng.choice(["NEAR", "LIKE", "NEVER", "KNOWS"])
            confidence = rng.choice([1.0, 1.0, 0.5, 0.9])
            relations.append(relation(source, kind, target, confidence=confidence))
        ends = sorted({end[0] for one in relations for end in (one["source"], one["target"])})
        acl = rng.choice([["public"], ["public"], ["ada"], ["bob"]])
        drafts.append(document(f"{key}", chunk(f"{key}", ends), relations=relations, acl=acl))
    return drafts


async def edges(stores: Stores, access: Access) -> dict[int, list[Edge]]:
    """Every relation that may be walked, from both of its ends."""
    readable = "namespace = any(%(n)s) and acl && %(p)s"
    params = {"n": list(access.namespaces), "p": list(access.principals)}
    found: dict[int, list[Edge]] = {
        id_: [] for (id_,) in await stores.rows(f"select id from entities where {readable}", params)
    }
    rows = await stores.rows(
        f"select source, target, type, weight from relationships where {readable}", params
    )
    for source, target, type_, weight in rows:
        found[source].append(Edge(source, target, type_, weight))
        found[target].append(Edge(target, source, type_, weight))
    return found


def walks(
    known: Mapping[int, list[Edge]], start: int, hops: int, score: float
) -> Iterator[tuple[int, int, float]]:
    """Where each walk of up to `hops` relations ends, its length, and its product."""
    if hops:
        for edge in known[start]:
            product = score * edge.weight * TYPE_WEIGHTS.get(edge.type, 1.0)
            yield edge.end, 1, product
            for end, length, whole in walks(known, edge.end, hops - 1, product):
                yield end, length + 1, whole


def expected(
    known: Mapping[int, list[Edge]], seeds: Mapping[int, float], hops: int, limit: int
) -> list[tuple[int, float]]:
    """The seeds, then the rest; a seed takes the score of a better walk if that is of the best."""
    seeds = {seed: score for seed, score in seeds.items() if seed in known}
    best = dict[int, float]()
    for seed, worth in seeds.items():
        for end, length, product in walks(known, seed, hops, worth):
            score = product * HOP_FACTORS[length]
            if score > max(best.get(end, 0.0), seeds.get(end, 0.0) * (1 + 1e-6)):
                best[end] = score
    kept = dict(ordered(best)[:limit])
    roots = {seed: kept.pop(seed, worth) for seed, worth in seeds.items()}
    return [*ordered(roots), *ordered(kept)]


def ordered(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    return sorted(scores.items(), key=lambda item: (-round(item[1], 6), item[0]))


def explained(reached: list[ReachedEntity], seeds: Mapping[int, float]) -> None:
    """Each path leads from a seed to its entity, and its product is the score."""
    names = {entity["id"]: entity["name"] for entity in reached}
    for entity in reached:
        path = entity["path"]
        assert entity["hop"] == len(path)
        if not path:
            assert entity["score"] == seeds[entity["id"]]
            continue
        at = {entity["name"]}
        for step in reversed(path):
            (at,) = ({step["source"], step["target"]} - {place} for place in at)
        product = math.prod(s["weight"] * TYPE_WEIGHTS.get(s["type"], 1.0) for s in path)
        product *= HOP_FACTORS[len(path)]
        scores = [score * product for seed, score in seeds.items() if {names.get(seed)} == at]
        assert entity["score"] in [pytest.approx(score, rel=1e-5) for score in scores]


@pytest.mark.parametrize("seed", range(6))
async def test_a_walk_finds_the_best_of_all_paths(stores: Stores, seed: int) -> None:
    rng = random.Random(seed)
    await stores.write(*graph(seed), namespace="one")
    await stores.write(*graph(seed + 100), namespace="two")
    everything = [id_ for (id_,) in await stores.rows("select id from entities order by id")]
    for access in (
        reader(namespace="one"),
        reader("ada", namespace="two"),
        Access(("one", "two"), ("ada", "bob")),
    ):
        known = await edges(stores, access)
        for _ in range(24):
            seeds = {
                id_: rng.choice([1.0, 0.5, 0.07, 0.003])
                for id_ in rng.sample(everything, rng.randint(1, 4))
            } | {10**9: 1.0}
            hops, limit = rng.randint(1, 3), rng.choice([1, 3, 8, ENOUGH])
            reached = await stores.graph.expand(
                seeds,
                hops=hops,
                limit=limit,
                fanout=ENOUGH,
                type_weights=TYPE_WEIGHTS,
                access=access,
            )
            wanted = expected(known, seeds, hops, limit)
            assert [entity["id"] for entity in reached] == [id_ for id_, _ in wanted]
            assert [entity["score"] for entity in reached] == pytest.approx(
                [score for _, score in wanted], rel=1e-5
            )
            explained(reached, seeds)


async def star(stores: Stores, leaves: int) -> dict[str, int]:
    """A hub with leaves that are all as near, and one that is nearer."""
    names = [f"leaf{n}" for n in range(leaves)]
    random.Random(3).shuffle(names)
    near = relation("hub", "LIKE", "near", evidence=[0, 1])
    rays = [relation("hub", "LIKE", name) for name in names]
    await stores.write(
        document("star", chunk("x", ["hub", "near", *names]), "y", relations=[near, *rays])
    )
    return await stores.entity_ids()


async def walk(
    stores: Stores, seeds: Mapping[int, float], *, hops: int = 3, limit: int, fanout: int = ENOUGH
) -> list[ReachedEntity]:
    return await stores.graph.expand(
        seeds, hops=hops, limit=limit, fanout=fanout, type_weights={}, access=reader()
    )


async def test_among_equals_the_lowest_id_wins_at_every_limit(stores: Stores) -> None:
    ids = await star(stores, 40)
    leaves = sorted(id_ for name, id_ in ids.items() if name.startswith("leaf"))
    for hops in (1, 2, 3):
        for limit in (1, 2, 10, 41, 100):
            reached = await walk(stores, {ids["hub"]: 0.7}, hops=hops, limit=limit)
            wanted = [ids["hub"], ids["near"], *leaves][: limit + 1]
            assert [entity["id"] for entity in reached] == wanted


async def test_fanout_keeps_the_heaviest_relations_of_an_entity(stores: Stores) -> None:
    ids = await star(stores, 10)
    leaves = sorted(id_ for name, id_ in ids.items() if name.startswith("leaf"))
    reached = await walk(stores, {ids["hub"]: 1.0}, hops=1, limit=ENOUGH, fanout=3)
    assert [one["id"] for one in reached] == [ids["hub"], ids["near"], *leaves[:2]]


async def test_a_step_is_told_as_it_is_stored_whichever_way_it_is_walked(stores: Stores) -> None:
    await stores.write(
        document(
            "one",
            chunk("x", ["a", "b", "c"]),
            relations=[
                relation("a", "LEFT", "b"),
                relation("c", "MET", "b", confidence=0.5),
            ],
        )
    )
    ids = await stores.entity_ids()
    last = (await walk(stores, {ids["a"]: 1.0}, limit=9))[-1]
    assert (last["name"], last["hop"], last["path"]) == (
        "c",
        2,
        [
            {"source": "a", "type": "LEFT", "target": "b", "weight": 0.5},
            {"source": "c", "type": "MET", "target": "b", "weight": 0.25},
        ],
    )


async def test_asking_about_nothing_asks_nobody() -> None:
    nobody = PostgresGraphStore(cast("Any", None))
    assert await walk(cast("Any", Stores)(*[None] * 3, nobody, None), {}, limit=9) == []
    assert await nobody.mentions_of([], fanout=9, access=reader()) == []
    assert await nobody.relationships_among([], limit=9, access=reader()) == []


async def test_what_is_unknown_or_secret_is_no_seed(stores: Stores) -> None:
    await stores.write(document("closed", chunk("x", ["a", "b"]), acl=["eve"]))
    seeds = dict.fromkeys([*(await stores.entity_ids()).values(), 10**9], 1.0)
    assert await walk(stores, seeds, limit=9) == []


async def test_mentions_are_subjects_first_then_by_count(stores: Stores) -> None:
    await stores.write(
        document("one", chunk("few", ["a", "b"]), chunk("many", [mention("a", count=3)])),
        document("two", chunk("about", [mention("a", subject=True), "b", "c"])),
        document("closed", chunk("secret", [mention("a", subject=True, count=9)]), acl=["eve"]),
    )
    ids, texts = await stores.entity_ids(), {id_: t for t, id_ in (await stores.ids()).items()}

    async def told(fanout: int) -> list[tuple[int, str, int, bool, int]]:
        mentions = await stores.graph.mentions_of(
            [ids["b"], 10**9, ids["a"]], fanout=fanout, access=reader()
        )
        return [
            (m["entity"], texts[m["chunk"]], m["count"], m["subject"], m["chunk_entities"])
            for m in mentions
        ]

    a = [(ids["a"], "about", 1, True, 3), (ids["a"], "many", 3, False, 1)]
    b = [(ids["b"], "few", 1, False, 2), (ids["b"], "about", 1, False, 3)]
    assert await told(9) == [*a, (ids["a"], "few", 1, False, 2), *b]
    assert await told(2) == [*a, *b]


async def test_relations_among_entities_come_heaviest_first_with_their_evidence(
    stores: Stores,
) -> None:
    both = [relation("a", "MET", "b", evidence=[0, 1]), relation("b", "LEFT", "c", confidence=0.6)]
    await stores.write(
        document("one", chunk("x", ["a", "b", "c"]), "y", relations=both),
        document(
            "closed",
            chunk("z", ["a", "b"]),
            relations=[
                relation("a", "MET", "b"),
                relation("a", "SPIED", "b"),
            ],
            acl=["eve"],
        ),
    )
    ids, chunks = await stores.entity_ids(), await stores.ids()

    async def told(names: str, limit: int = 9) -> list[tuple[str, int, list[int]]]:
        found = await stores.graph.relationships_among(
            [ids[name] for name in names] + [10**9], limit=limit, access=reader()
        )
        return [(one["type"], one["count"], one["evidence"]) for one in found]

    met, left = ("MET", 3, [chunks["x"], chunks["y"]]), ("LEFT", 1, [chunks["x"]])
    assert await told("abc") == [met, left]
    assert await told("abc", limit=1) == [met]
    assert await told("bc") == [left]
    assert await told("a") == await told("ac") == []
