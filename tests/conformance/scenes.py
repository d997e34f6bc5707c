"""Random histories of writing, deleting, weighing and comparing, for several stores to live."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hypothesis import strategies as st

from clew.models.embeddings import pack
from clew.stores.access import Access
from clew.stores.records import CO_OCCURS, DocumentDraft, SectionDraft
from clew.stores.walk import Walk
from clew.tests.stores.postgres.drafts import (
    NAME,
    chunk,
    document,
    history,
    leaning,
    relation,
    unit,
)

from .backends import Backend

__all__ = [
    "ACCESSES",
    "NAMESPACES",
    "GraphScene",
    "Step",
    "graphs",
    "libraries",
    "live",
    "powers_of_two",
    "walks",
]

NAMESPACES = ("one", "two")
ACCESSES = [
    Access(("one",)),
    Access(("two", "none"), ("ada",)),
    Access(NAMESPACES, ("bob", "ada")),
]

NODES = [f"n{n}" for n in range(7)]
KINDS = ["LIKE", "NEAR", "KNOWS"]
KEYS = "abcd"
DATES = [None, None, "1900-01-01", "1920-06-30", "1950-12-31"]

powers_of_two = st.sampled_from([1.0, 0.5, 0.25, 0.125])
any_weights = st.sampled_from([1.0, 0.5, 0.3, 0.07, 0.003])


@dataclass(frozen=True)
class Step:
    """Writing a document, or deleting the one of its key; then weighing, and comparing names.

    `compare`: so many names at most.
    """

    namespace: str
    draft: DocumentDraft
    delete: bool = False
    weigh: bool = False
    compare: int = 0


@dataclass(frozen=True)
class GraphScene:
    """A graph in the making, and what is asked of it. Seeds are names, in every namespace.

    `exact`: every weight is a power of two, so that all arithmetic is, and what is tied is tied.
    """

    steps: list[Step]
    exact: bool
    seeds: dict[str, float]
    walks: list[Walk]


@st.composite
def walks(draw: st.DrawFn, *, exact: bool) -> Walk:
    factors = st.sampled_from([0.0, 1.0, 0.5, 0.25] if exact else [0.0, 1.0, 0.5, 0.9, 0.35])
    days = st.sampled_from([None, None, None, "1900-01-01", "1910-01-01", "1950-12-31"])
    return Walk(
        hops=draw(st.integers(1, 3)),
        limit=draw(st.sampled_from([1, 2, 3, 5, 100])),
        type_weights=draw(st.dictionaries(st.sampled_from([*KINDS, "NONE"]), factors, max_size=3)),
        default_weight=draw(st.one_of(st.just(1.0), factors)),
        date_from=draw(days),
        date_to=draw(days),
    )


@st.composite
def graphs(draw: st.DrawFn) -> GraphScene:
    """Relations between few entities: hubs, cycles, ties and parallels come by themselves."""
    exact = draw(st.booleans())
    steps = draw(st.lists(_exact_steps() if exact else _steps(), min_size=1, max_size=6))
    seeds = st.dictionaries(
        st.sampled_from(NODES), powers_of_two if exact else any_weights, min_size=1, max_size=3
    )
    asked = draw(st.lists(walks(exact=exact), min_size=2, max_size=4))
    return GraphScene([*chain.from_iterable(steps)], exact, draw(seeds), asked)


@st.composite
def _steps(draw: st.DrawFn) -> list[Step]:
    """One document, which other documents may bear out."""
    places = range(draw(st.integers(1, 3)))
    edges = draw(
        st.lists(
            st.tuples(
                st.sampled_from(NODES),
                st.sampled_from([*KINDS, CO_OCCURS, CO_OCCURS]),
                st.sampled_from(NODES),
                st.sampled_from([1.0, 0.9, 0.5, 0.31]),
                st.sets(st.sampled_from(places), min_size=1).map(sorted),
            ),
            max_size=8,
        )
    )
    key, delete = draw(st.sampled_from(KEYS)), draw(st.integers(0, 5)) == 0
    draft = _document(draw, key, edges, len(places))
    return [Step(draw(st.sampled_from(NAMESPACES)), draft, delete, draw(st.booleans()))]


@st.composite
def _exact_steps(draw: st.DrawFn) -> list[Step]:
    """Documents of which no two say the same, so that every relation is seen once."""
    edges = draw(
        st.lists(
            st.tuples(
                st.integers(0, len(NODES) - 1),
                st.integers(0, len(KINDS) - 1),
                st.integers(0, len(NODES) - 1),
                st.sampled_from([1.0, 1.0, 0.5, 0.25]),
            ),
            unique_by=lambda edge: edge[:3],
            min_size=1,
            max_size=12,
        )
    )
    by_key: dict[str, list[Any]] = {}
    for source, kind, target, confidence in edges:
        key = KEYS[(source + 2 * target + kind) % len(KEYS)]
        said = (NODES[source], KINDS[kind], NODES[target], confidence, [0])
        by_key.setdefault(key, []).append(said)
    namespace = draw(st.sampled_from(NAMESPACES))
    return [Step(namespace, _document(draw, key, said, 1)) for key, said in by_key.items()]


def _document(draw: st.DrawFn, key: str, edges: Sequence[Any], chunks: int) -> DocumentDraft:
    ends = sorted({end for source, _, target, *_ in edges for end in (source, target)})
    others = [draw(st.lists(st.sampled_from(NODES), unique=True)) for _ in range(chunks - 1)]
    return document(
        key,
        chunk(key, ends),
        *(chunk(f"{key} {n}", names) for n, names in enumerate(others)),
        acl=draw(st.sampled_from([["public"], ["public"], ["ada"], ["bob", "eve"], ["eve"]])),
        date=draw(st.sampled_from(DATES)),
        relations=[
            relation(source, kind, target, confidence=confidence, evidence=evidence)
            for source, kind, target, confidence, evidence in edges
        ],
    )


def libraries() -> st.SearchStrategy[list[Step]]:
    """Documents with words, vectors, categories, sections, names and aliases."""
    one = st.builds(
        _librarys_step,
        st.sampled_from(NAMESPACES),
        st.integers(0, 2**32),
        st.integers(0, 5),
        st.sampled_from([0, 0, 1, 3, 99]),
    )
    return st.lists(one, min_size=1, max_size=8)


def _librarys_step(namespace: str, seed: int, chance: int, compare: int) -> Step:
    rng = random.Random(seed)
    draft = history(rng)
    draft["category"] = rng.choice([None, "tale", "law"])
    draft["metadata"] = rng.choice([{}, {"tags": ["old", "rare"]}, {"page": 2}])
    places = range(len(draft["chunks"]))
    spans = {tuple(sorted(rng.choices(places, k=2))) for _ in range(rng.randint(0, 3))}
    draft["sections"] = [
        SectionDraft(
            index=index,
            span_start=start,
            span_end=end,
            text="section",
            embedding=pack(unit(rng.randint(0, 9))),
        )
        for index, (start, end) in enumerate(sorted(spans))
    ]
    near = [leaning(parts, side) for side, parts in enumerate((64, 63, 62, 60, 58, 56, 54, 52))]
    vectors = ["", *map(pack, [*near, leaning(48, 9), unit("ada" + NAME)])]
    for entity in draft["entities"]:
        entity["embedding"] = rng.choice(vectors)
    return Step(namespace, draft, chance == 0, compare=compare)


async def live(backend: Backend, steps: Sequence[Step], suffix: str = "") -> list[int]:
    """Do all this to a store, in namespaces of its own; returns what each weighing changed and
    how many names each comparing had to compare.
    """
    changed = []
    for step in steps:
        if step.delete:
            await backend.delete(step.draft["key"], namespace=step.namespace + suffix)
        else:
            await backend.write(step.draft, namespace=step.namespace + suffix)
        if step.weigh:
            changed.append(await backend.weigh(namespace=step.namespace + suffix))
        if step.compare:
            names = await backend.compare(limit=step.compare, namespace=step.namespace + suffix)
            changed.append(names)
    return changed
