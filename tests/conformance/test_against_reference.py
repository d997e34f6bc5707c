"""After any history a store answers as the reference does, whoever asks, and in the same order.

The reference is given the store's ids, so that ties are broken alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.stores.access import Access
from clew.stores.records import Filters, Hit, NameMatch, ReachedEntity
from clew.stores.walk import HOP_FACTORS, Walk
from clew.tests.stores.postgres.drafts import EVERYTHING, WORDS, same, stored, unit

from .backends import Backend, neo4j_backend, postgres_backend
from .reference import ALL, accesses, reference, thorough, within
from .scenes import NAMESPACES, GraphScene, Step, graphs, libraries

FILTERS: list[Filters] = [
    EVERYTHING,
    {"category": ["tale", "law"]},
    {"metadata": {"tags": ["old"]}, "date_to": "1899-12-31"},
    {"date_from": "1843-01-01", "category": ["tale"]},
    {"exclude": ["a", "d", "none"]},
    {"exclude": ["b"], "category": ["tale", "law"]},
]
NAMES = [
    *("ada", "ada lovelace", "adda lovelace", "ada lovelacee", "lovelace ada", "lovelace"),
    *("bob", "bobb", "bobby", "countess", "c", "c++", "c++ bob", "!!!", "turin", "turim", ""),
]


_numbers = itertools.count(1)


@pytest.mark.parametrize("kind", ["postgres", "neo4j"])
def test_the_graph_is_the_references(kind: str, dsn: str, request: pytest.FixtureRequest) -> None:
    if kind == "postgres":
        opened = postgres_backend(dsn)
    else:
        opened = neo4j_backend(dsn, request.getfixturevalue("target"))

    def body(run: Callable[[Awaitable[None]], None], backend: Backend) -> None:
        @thorough(60)
        @given(graphs())
        def check(scene: GraphScene) -> None:
            run(same_graph(backend, scene, f" {next(_numbers)}"))

        check()

    within(opened, body)


async def same_graph(backend: Backend, scene: GraphScene, suffix: str) -> None:
    remembered = await reference(backend, scene.steps, suffix)
    known = await remembered.known(*(name + suffix for name in NAMESPACES))
    seeds = {
        id_: scene.seeds[one["name"]]
        for id_, one in known.entities.items()
        if one["name"] in scene.seeds
    } | {10**9: 1.0}
    # Powers of two, whose sum is the same in any order.
    weights = {id_: 0.5 ** (n % 4) for n, id_ in enumerate(seeds)}
    for access in accesses(suffix):
        for walk in scene.walks:
            found = await backend.graph.expand(seeds, walk=walk, access=access)
            expected = await remembered.graph.expand(seeds, walk=walk, access=access)
            explained(found, seeds, walk)
            if scene.exact:
                assert [trail(one) for one in found] == [trail(one) for one in expected]
            else:
                everything = Walk(
                    hops=walk.hops,
                    limit=ALL,
                    type_weights=walk.type_weights,
                    default_weight=walk.default_weight,
                    date_from=walk.date_from,
                    date_to=walk.date_to,
                )
                reached = await remembered.graph.expand(seeds, walk=everything, access=access)
                same_but_for_ties(found, expected, reached)
        for limit in (1, 3, ALL):
            always = [*known.passages][::3]
            assert await backend.graph.mentions_of(
                weights, limit=limit, always=always, access=access
            ) == await remembered.graph.mentions_of(
                weights, limit=limit, always=always, access=access
            )
        for limit in (1, 3, ALL):
            for ends in ([*known.entities], [*known.entities][::2], [*seeds]):
                assert await backend.graph.relationships_among(
                    ends, limit=limit, access=access
                ) == await remembered.graph.relationships_among(ends, limit=limit, access=access)


def trail(one: ReachedEntity) -> tuple[object, ...]:
    """Everything but which of two relations that are worth as much was walked."""
    steps = [({step["source"], step["target"]}, step["weight"]) for step in one["path"]]
    score = pytest.approx(one["score"], rel=1e-6)
    ends = [ends for ends, _ in steps]
    return one["id"], one["name"], one["df"], one["hop"], score, one["seed"], ends


def same_but_for_ties(
    found: list[ReachedEntity], expected: list[ReachedEntity], reached: list[ReachedEntity]
) -> None:
    """What is as good as equal in single precision may stand either way."""
    scores = {one["id"]: one["score"] for one in [*reached, *expected]}
    assert [one["score"] for one in found] == pytest.approx(
        [one["score"] for one in expected], rel=1e-6
    )
    for one, other in zip(found, expected, strict=True):
        if one["id"] == other["id"]:
            assert one["df"] == other["df"]
        assert scores[one["id"]] == pytest.approx(other["score"], rel=1e-6) or one["hop"] == 0
    assert len({one["id"] for one in found}) == len(found)


def explained(found: list[ReachedEntity], seeds: Mapping[int, float], walk: Walk) -> None:
    """Each path leads from its seed to its entity, and its product is the score."""
    names = {one["id"]: one["name"] for one in found}
    for one in found:
        assert one["hop"] == len(one["path"]) <= walk.hops
        at = one["name"]
        for step in reversed(one["path"]):
            assert at in (step["source"], step["target"])
            at = step["source"] if at == step["target"] else step["target"]
        assert at == names[one["seed"]]
        product = math.prod(step["weight"] * walk.factor(step["type"]) for step in one["path"])
        worth = seeds[one["seed"]] * product * HOP_FACTORS[one["hop"]]
        assert one["score"] == pytest.approx(worth, rel=1e-5)


def test_searches_are_the_references(dsn: str) -> None:
    def body(run: Callable[[Awaitable[None]], None], backend: Backend) -> None:
        @thorough(40)
        @given(
            libraries(),
            st.lists(st.sampled_from([*WORDS[:5], "the"]), min_size=1, max_size=4),
            st.sampled_from(FILTERS),
        )
        def check(steps: list[Step], words: list[str], filters: Filters) -> None:
            question, suffix = " ".join(words), f" {next(_numbers)}"
            run(same_searches(backend, steps, question, filters, suffix))

        check()

    within(postgres_backend(dsn), body)


async def same_searches(
    backend: Backend, steps: list[Step], question: str, filters: Filters, suffix: str
) -> None:
    remembered = await reference(backend, steps, suffix)
    known = await remembered.known(*(name + suffix for name in NAMESPACES))
    ids, vector = [*reversed(known.passages), 10**9], unit(len(question) % 10)
    for access in accesses(suffix):
        mine, theirs = remembered.chunks, backend.chunks
        for limit in (2, ALL):
            best = await mine.search_text(question, limit=ALL, filters=filters, access=access)
            hits = await theirs.search_text(question, limit=limit, filters=filters, access=access)
            same(hits, scores(best), limit, 1e-6)
            best = await mine.search_vector(vector, limit=ALL, filters=filters, access=access)
            hits = await theirs.search_vector(vector, limit=limit, filters=filters, access=access)
            same(hits, scores(best), limit, 1e-5)
        for asked in (vector, None):
            given = {"embedding": asked, "question": question, "filters": filters, "access": access}
            expected = await mine.score(ids, **given)  # type: ignore[arg-type]
            found = await theirs.score(ids, **given)  # type: ignore[arg-type]
            assert [one["id"] for one in found] == [one["id"] for one in expected]
            assert [one["dense"] for one in found] == pytest.approx(
                [one["dense"] for one in expected], abs=1e-5
            )
            assert [one["bm25"] for one in found] == pytest.approx(
                [one["bm25"] for one in expected], abs=1e-6
            )
        assert await theirs.fetch(ids, access=access) == await mine.fetch(ids, access=access)
        some = ids[::3]
        assert await theirs.neighbours(some, reach=1, access=access) == await mine.neighbours(
            some, reach=1, access=access
        )
        for most, fanout in ((0, 9), (3, 2), (99, 99)):
            assert await theirs.links(
                some, max_df=most, fanout=fanout, access=access
            ) == await mine.links(some, max_df=most, fanout=fanout, access=access)
        await same_sections(backend, remembered, filters, access)


async def same_sections(
    backend: Backend, remembered: Backend, filters: Filters, access: Access
) -> None:
    vector = unit(3)
    mine, theirs = remembered.sections, backend.sections
    best = await mine.search_sections(vector, limit=ALL, filters=filters, access=access)
    spans = {one["id"]: (one["document"], one["span_start"], one["span_end"]) for one in best}
    worth = {one["id"]: one["score"] for one in best}
    for limit in (2, ALL):
        found = await theirs.search_sections(vector, limit=limit, filters=filters, access=access)
        same([Hit(id=one["id"], score=one["score"]) for one in found], worth, limit, 1e-5)
        for one in found:
            assert (one["document"], one["span_start"], one["span_end"]) == spans[one["id"]]
        for ids in ([], [*spans][:2], [*spans, 10**9]):
            inside = await mine.search_spans(ids, vector, limit=ALL, filters=filters, access=access)
            hits = await theirs.search_spans(
                ids, vector, limit=limit, filters=filters, access=access
            )
            same(hits, scores(inside), limit, 1e-5)


def scores(hits: Sequence[Hit]) -> dict[int, float]:
    return {hit["id"]: hit["score"] for hit in hits}


def test_names_are_the_references(dsn: str) -> None:
    def body(run: Callable[[Awaitable[None]], None], backend: Backend) -> None:
        @thorough(40)
        @given(libraries(), st.sampled_from([1, 2, 99]))
        def check(steps: list[Step], limit: int) -> None:
            run(same_names(backend, steps, limit, f" {next(_numbers)}"))

        check()

    within(postgres_backend(dsn), body)


async def same_names(backend: Backend, steps: list[Step], limit: int, suffix: str) -> None:
    remembered = await reference(backend, steps, suffix)
    known = await remembered.known(*(name + suffix for name in NAMESPACES))
    mine, theirs = remembered.entities, backend.entities
    asked = stored(unit("ada" + "NAME"))
    for access in accesses(suffix):
        assert await theirs.find_exact(NAMES, access=access) == await mine.find_exact(
            NAMES, access=access
        )
        assert await theirs.find_similar(NAMES, limit=limit, access=access) == (
            await mine.find_similar(NAMES, limit=limit, access=access)
        )
        found = await theirs.find_text(NAMES, limit=limit, access=access)
        expected = await mine.find_text(NAMES, limit=limit, access=access)
        assert list(map(told, found)) == list(map(told, expected))
        for least in (-1.0, 0.5):
            near = [
                await store.find_nearest(
                    ["x"], asked[None], limit=most, min_cosine=least, access=access
                )
                for store, most in ((theirs, limit), (mine, ALL))
            ]
            hits, best = (
                [Hit(id=one["entity"]["id"], score=one["score"]) for one in matches]
                for matches in near
            )
            same(hits, scores(best), limit, 1e-5)
        ids = [*known.entities, 10**9]
        hits = await theirs.similarity(ids, embedding=asked, access=access)
        best = await mine.similarity(ids, embedding=asked, access=access)
        same(hits, scores(best), ALL, 1e-5)
        chunks = [*known.passages, 10**9]
        assert await theirs.mentions_in(chunks, access=access) == await mine.mentions_in(
            chunks, access=access
        )
        for least in (-1.0, 0.02):
            assert await theirs.near_chunks(
                chunks, limit=limit, min_cosine=least, access=access
            ) == await mine.near_chunks(chunks, limit=limit, min_cosine=least, access=access)
        assert await theirs.stats(access=access) == await mine.stats(access=access)


def told(match: NameMatch) -> tuple[object, ...]:
    return match["query"], match["entity"], match["via"], pytest.approx(match["score"], rel=1e-6)
