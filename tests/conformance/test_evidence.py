"""What ties entities to chunks and to each other, and how much it weighs."""

from __future__ import annotations

import pytest

from clew.tests.stores.postgres.drafts import chunk, document, mention, reader, relation

from .backends import Backend
from .test_graph import walk


async def test_a_relation_weighs_its_best_confidence_and_how_often_it_was_seen(
    graph_backend: Backend,
) -> None:
    ends = ["a", "b"]
    await graph_backend.write(
        document(
            "one",
            chunk("x", ends),
            "y",
            relations=[
                relation("a", "MET", "b", confidence=0.3, evidence=[0, 1]),
                relation("a", "MET", "b", confidence=0.8, evidence=[1]),
            ],
        ),
        document("sure", chunk("z", ends), relations=[relation("a", "MET", "b", confidence=0.9)]),
    )

    async def weighed() -> tuple[float, float, int]:
        known = await graph_backend.known()
        (met,) = await graph_backend.graph.relationships_among(
            [*known.entities], limit=9, access=reader()
        )
        step = (await walk(graph_backend, {known.entity("a"): 1.0}))[1]["path"][0]
        assert step["weight"] == pytest.approx(met["weight"], rel=1e-6)
        return met["weight"], met["confidence"], met["count"]

    assert await weighed() == pytest.approx((0.9 * 3 / 4, 0.9, 3), rel=1e-6)
    # Without the surest witness it is no surer than the rest.
    await graph_backend.delete("sure")
    assert await weighed() == pytest.approx((0.8 * 2 / 3, 0.8, 2), rel=1e-6)


async def test_mentions_stand_in_the_heaviest_chunks_and_in_those_that_are_always_wanted(
    graph_backend: Backend,
) -> None:
    await graph_backend.write(
        document("one", chunk("few", ["a", "b"]), chunk("many", [mention("a", count=3)])),
        document("two", chunk("about", [mention("c", subject=True), "b", "d"])),
        document("shut", chunk("secret", [mention("a", subject=True, count=9), "b"]), acl=["eve"]),
    )
    known = await graph_backend.known()
    weights = {known.entity("c"): 0.3, known.entity("a"): 0.5, known.entity("b"): 0.125, 10**9: 1.0}

    async def told(limit: int, *always: str) -> set[tuple[str, str, int, bool, int]]:
        mentions = await graph_backend.graph.mentions_of(
            weights, limit=limit, always=[*map(known.chunk, always), 10**9], access=reader()
        )
        assert mentions == sorted(mentions, key=lambda one: (one["chunk"], one["entity"]))
        return {
            (
                known.text(m["chunk"]),
                known.name(m["entity"]),
                m["count"],
                m["subject"],
                m["chunk_entities"],
            )
            for m in mentions
        }

    few = {("few", "a", 1, False, 2), ("few", "b", 1, False, 2)}
    many = {("many", "a", 3, False, 1)}
    about = {("about", "c", 1, True, 3), ("about", "b", 1, False, 3)}
    assert await told(1) == few
    assert await told(2) == few | many
    assert await told(9) == few | many | about
    assert await told(1, "about", "secret") == few | about
    assert await told(1, "few", "many") == few | many


async def test_relations_among_entities_come_heaviest_first_with_their_evidence(
    graph_backend: Backend,
) -> None:
    both = [relation("a", "MET", "b", evidence=[0, 1]), relation("b", "LEFT", "c", confidence=0.6)]
    closed = [relation("a", "MET", "b"), relation("a", "SPIED", "b")]
    await graph_backend.write(
        document("one", chunk("x", ["a", "b", "c"]), "y", relations=both),
        document("closed", chunk("z", ["a", "b"]), relations=closed, acl=["eve"]),
    )
    known = await graph_backend.known()

    async def told(names: str, limit: int = 9) -> list[tuple[str, str, str, int, list[str]]]:
        found = await graph_backend.graph.relationships_among(
            [*map(known.entity, names), 10**9], limit=limit, access=reader()
        )
        assert all(one["evidence"] == sorted(one["evidence"]) for one in found)
        return [
            (
                known.name(one["source"]),
                one["type"],
                known.name(one["target"]),
                one["count"],
                sorted(map(known.text, one["evidence"])),
            )
            for one in found
        ]

    met, left = ("a", "MET", "b", 3, ["x", "y"]), ("b", "LEFT", "c", 1, ["x"])
    assert await told("abc") == [met, left]
    assert await told("abc", limit=1) == [met]
    assert await told("bc") == [left]
    assert await told("a") == await told("ac") == []


async def test_of_much_evidence_the_first_twenty_readable_chunks_are_told(
    graph_backend: Backend,
) -> None:
    met = [relation("a", "MET", "b", evidence=range(30))]
    chunks = [chunk(f"{n}", ["a", "b"]) for n in range(30)]
    await graph_backend.write(
        document("shut", *chunks, relations=met, acl=["eve"]),
        document("open", *chunks, relations=met),
    )
    known = await graph_backend.known(principals=())
    (told,) = await graph_backend.graph.relationships_among(
        [*known.entities], limit=9, access=reader()
    )
    assert told["count"] == 60
    assert told["weight"] == pytest.approx(60 / 61, rel=1e-6)
    assert told["evidence"] == sorted(known.passages)[:20]
