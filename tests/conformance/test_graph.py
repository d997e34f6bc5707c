"""The walk, and what ties entities to chunks and to each other."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from clew.stores.access import Access
from clew.stores.records import ReachedEntity
from clew.stores.walk import Walk
from clew.tests.stores.postgres.drafts import chunk, document, reader, relation

from .backends import Backend, Known

ENOUGH = 1000


async def walk(
    backend: Backend, seeds: Mapping[int, float], *, access: Access | None = None, **how: Any
) -> list[ReachedEntity]:
    return await backend.graph.expand(
        seeds, walk=Walk(**how), access=reader() if access is None else access
    )


def told(reached: list[ReachedEntity]) -> list[tuple[str, int, Any]]:
    return [(one["name"], one["hop"], pytest.approx(one["score"], rel=1e-5)) for one in reached]


async def star(backend: Backend, leaves: int) -> Known:
    """A hub with leaves that are all as near, and one that is nearer."""
    names = [f"leaf{n}" for n in range(leaves)]
    random.Random(3).shuffle(names)
    near = relation("hub", "LIKE", "near", evidence=[0, 1])
    rays = [relation("hub", "LIKE", name) for name in names]
    await backend.write(
        document("star", chunk("x", ["hub", "near", *names]), "y", relations=[near, *rays])
    )
    return await backend.known()


async def test_among_equals_the_lowest_id_wins_at_every_limit(graph_backend: Backend) -> None:
    known = await star(graph_backend, 40)
    hub, near = known.entity("hub"), known.entity("near")
    leaves = sorted(id_ for id_, one in known.entities.items() if one["name"].startswith("leaf"))
    for hops in (1, 2, 3):
        for limit in (1, 2, 10, 41, 100):
            reached = await walk(graph_backend, {hub: 0.7}, hops=hops, limit=limit)
            assert [one["id"] for one in reached] == [hub, near, *leaves][: limit + 1]


async def test_a_step_is_told_as_it_is_stored_whichever_way_it_is_walked(
    graph_backend: Backend,
) -> None:
    await graph_backend.write(
        document(
            "one",
            chunk("x", ["a", "b", "c"]),
            relations=[relation("a", "LEFT", "b"), relation("c", "MET", "b", confidence=0.5)],
        )
    )
    known = await graph_backend.known()
    last = (await walk(graph_backend, {known.entity("a"): 1.0}, hops=3))[-1]
    assert last == {
        "id": known.entity("c"),
        "name": "c",
        "type": "NAME",
        "df": 1,
        "hop": 2,
        "score": pytest.approx(0.5 * 0.25 * 0.6, rel=1e-5),
        "seed": known.entity("a"),
        "path": [
            {"source": "a", "type": "LEFT", "target": "b", "weight": 0.5},
            {"source": "c", "type": "MET", "target": "b", "weight": 0.25},
        ],
    }


async def test_a_seed_that_is_reached_by_a_better_path_takes_it_and_a_place(
    graph_backend: Backend,
) -> None:
    await graph_backend.write(
        document(
            "one",
            chunk("x", ["a", "b", "c", "d"]),
            relations=[
                relation("a", "LIKE", "b", confidence=0.8),
                relation("a", "LIKE", "c", confidence=0.6),
                relation("a", "LIKE", "d", confidence=0.4),
            ],
        )
    )
    known = await graph_backend.known()
    a, b, c, d = (known.entity(name) for name in "abcd")

    async def reached(seeds: Mapping[int, float], limit: int) -> list[tuple[str, int, int, Any]]:
        found = await walk(graph_backend, seeds, limit=limit)
        return [
            (one["name"], one["hop"], one["seed"], pytest.approx(one["score"], rel=1e-5))
            for one in found
        ]

    root, far_b, far_c = ("a", 0, a, 1), ("b", 1, a, 0.4), ("c", 1, a, 0.3)
    assert await reached({a: 1.0, c: 0.1}, 2) == [root, far_c, far_b]
    # Its path is not among the best: it stays what it was, and takes no place.
    assert await reached({a: 1.0, d: 0.1}, 2) == [root, ("d", 0, d, 0.1), far_b, far_c]
    # A path that is worth less changes nothing.
    assert await reached({a: 1.0, b: 0.5}, 1) == [root, ("b", 0, b, 0.5), far_c]


async def test_of_equal_paths_the_shorter_wins_then_the_one_over_the_lower_parent(
    graph_backend: Backend,
) -> None:
    # Over m or n in two hops: 1/2 · 1/2 · 0.6; straight in one: 0.15, at once or not at all.
    names = ["s", "n", "m", "t", "u"]
    relations = [relation(*ends) for ends in (("s", "LIKE", "n"), ("s", "LIKE", "m"))]
    relations += [relation(one, "LIKE", "t") for one in ("n", "m")]
    relations += [relation("n", "LIKE", "u"), relation("s", "LIKE", "u", confidence=0.3)]
    await graph_backend.write(document("one", chunk("x", names), relations=relations))
    known = await graph_backend.known()
    found = {
        one["name"]: one for one in await walk(graph_backend, {known.entity("s"): 1.0}, hops=3)
    }
    lower = min("nm", key=known.entity)
    assert found["t"]["score"] == pytest.approx(0.15, rel=1e-6)
    assert {found["t"]["path"][0]["target"], found["t"]["path"][1]["source"]} == {lower}
    assert found["u"]["score"] == pytest.approx(0.15, rel=1e-6)


async def test_type_weights_close_favour_and_leave_types(graph_backend: Backend) -> None:
    ends = {"near": "NEAR", "like": "LIKE", "never": "NEVER"}
    await graph_backend.write(
        document(
            "one",
            chunk("x", ["hub", *ends]),
            relations=[relation("hub", kind, name) for name, kind in ends.items()],
        )
    )
    hub = (await graph_backend.known()).entity("hub")

    async def scores(**how: Any) -> dict[str, Any]:
        found = await walk(graph_backend, {hub: 1.0}, **how)
        return {one["name"]: pytest.approx(one["score"], rel=1e-5) for one in found[1:]}

    assert await scores() == {"near": 0.5, "like": 0.5, "never": 0.5}
    weights = {"NEAR": 0.5, "NEVER": 0.0, "UNKNOWN": 1.0}
    assert await scores(type_weights=weights) == {"near": 0.25, "like": 0.5}
    assert await scores(type_weights=weights, default_weight=0.2) == {"near": 0.25, "like": 0.1}
    assert await scores(type_weights=weights, default_weight=0.0) == {"near": 0.25}
    assert await scores(default_weight=0.0) == {}
    # What comes first is decided after the types have had their say.
    assert await scores(type_weights=weights, limit=1) == {"like": 0.5}
    assert await scores(type_weights=weights, default_weight=0.2, limit=1) == {"near": 0.25}


async def test_parallel_relations_lead_to_one_entity_once_by_the_best(
    graph_backend: Backend,
) -> None:
    kinds = [f"KIND {n}" for n in range(6)]
    relations = [
        relation("a", kind, "b", confidence=(n + 1) / 10) for n, kind in enumerate(kinds)
    ] + [
        relation("b", kinds[0], "a", confidence=0.65),
        relation("a", kinds[0], "c", confidence=0.1),
    ]
    await graph_backend.write(document("one", chunk("x", ["a", "b", "c"]), relations=relations))
    a = (await graph_backend.known()).entity("a")
    for limit in (1, 2, 9):
        found = await walk(graph_backend, {a: 1.0}, hops=2, limit=limit)
        assert told(found) == [("a", 0, 1.0), ("b", 1, 0.325), ("c", 1, 0.05)][: limit + 1]
        assert found[1]["path"] == [
            {"source": "b", "type": kinds[0], "target": "a", "weight": pytest.approx(0.325)}
        ]
    weights = {kinds[0]: 0.1}
    found = await walk(graph_backend, {a: 1.0}, type_weights=weights, limit=1)
    assert [step["type"] for step in found[1]["path"]] == [kinds[5]]


async def test_a_relation_of_an_entity_with_itself_is_none(graph_backend: Backend) -> None:
    relations = [relation("a", "LIKE", "A"), relation("a", "LIKE", "b")]
    await graph_backend.write(document("one", chunk("x", ["a", "A", "b"]), relations=relations))
    known = await graph_backend.known()
    reached = await walk(graph_backend, {known.entity("b"): 1.0}, hops=3)
    assert [(one["name"].lower(), one["hop"]) for one in reached] == [("b", 0), ("a", 1)]
    assert len(known.relationships) == 1


@pytest.mark.parametrize(
    ("period", "found"),
    [
        ({}, "bcde"),
        ({"date_from": "1900-01-01"}, "bce"),
        ({"date_to": "1900-01-01"}, "bc"),
        ({"date_from": "1900-01-02", "date_to": "1919-12-31"}, "c"),
        ({"date_from": "1920-01-01", "date_to": "1920-01-01"}, "ce"),
        ({"date_from": "1950-01-01"}, ""),
    ],
)
async def test_a_period_admits_what_was_seen_from_before_its_end_till_after_its_start(
    graph_backend: Backend, period: dict[str, Any], found: str
) -> None:
    def seen(key: str, date: str | None, *names: str) -> Any:
        relations = [relation("a", "LIKE", name) for name in names]
        return document(key, chunk(key, ["a", *names]), date=date, relations=relations)

    await graph_backend.write(
        seen("early", "1900-01-01", "b", "c"),
        seen("late", "1920-01-01", "c", "e"),
        seen("never", None, "c", "d"),
    )
    a = (await graph_backend.known()).entity("a")
    reached = await walk(graph_backend, {a: 1.0}, **period)
    assert sorted(one["name"] for one in reached[1:]) == [*found]


async def test_hops_are_counted_and_far_paths_are_worth_less(graph_backend: Backend) -> None:
    chain = [relation(one, "LIKE", other) for one, other in zip("abcd", "bcde", strict=True)]
    await graph_backend.write(document("one", chunk("x", [*"abcde"]), relations=chain))
    a = (await graph_backend.known()).entity("a")
    expected = [("a", 0, 1.0), ("b", 1, 0.5), ("c", 2, 0.15), ("d", 3, 0.0375)]
    for hops in (1, 2, 3):
        assert told(await walk(graph_backend, {a: 1.0}, hops=hops)) == expected[: hops + 1]


async def test_what_is_unknown_or_secret_is_no_seed(graph_backend: Backend) -> None:
    met = [relation("a", "MET", "b")]
    await graph_backend.write(document("shut", chunk("x", ["a", "b"]), relations=met, acl=["eve"]))
    seeds = dict.fromkeys([*(await graph_backend.known()).entities, 10**9], 1.0)
    assert await walk(graph_backend, seeds) == []
    assert await walk(graph_backend, {10**9: 1.0}) == []
    assert len(await walk(graph_backend, seeds, access=reader("eve"))) == 2


async def test_asking_about_nothing_finds_nothing(graph_backend: Backend) -> None:
    await star(graph_backend, 2)
    graph = graph_backend.graph
    assert await walk(graph_backend, {}) == []
    assert await graph.mentions_of({}, limit=9, always=[], access=reader()) == []
    assert await graph.relationships_among([], limit=9, access=reader()) == []
    await graph.healthy()
