"""Every walk there is over what a reader may see, from rows that nothing was derived for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clew.stores.access import Access
from clew.stores.records import ReachedEntity
from clew.stores.walk import HOP_FACTORS, Walk

from .conftest import Stores

__all__ = ["Arrival", "Edge", "edges", "expected", "explained"]

READABLE = """
    select 1 from chunks c join documents d on d.id = c.document_id
     where d.namespace = any(%(namespaces)s) and d.acl && %(principals)s and c.id =
"""
ENTITIES = f"""
    select e.id from entities e
     where exists (select from mentions m where m.entity_id = e.id
                      and exists ({READABLE} m.chunk_id))
"""
RELATIONS = f"""
    select r.source, r.target, r.type, r.weight::float8, r.first_seen::text, r.last_seen::text
      from relationships r
     where exists (select from evidence v where v.relationship_id = r.id
                      and exists ({READABLE} v.chunk_id))
"""


class Edge(NamedTuple):
    """A relation as walked from one of its ends."""

    end: int
    type: str
    weight: float
    first_seen: str | None
    last_seen: str | None


class Arrival(NamedTuple):
    """Where a walk ends: the highest is the best, then the shortest, then the lowest parent."""

    score: float
    fewer: int
    parent: int


async def edges(stores: Stores, access: Access) -> dict[int, list[Edge]]:
    """Every relation that this caller may know of, from both of its ends."""
    params = {"namespaces": list(access.namespaces), "principals": list(access.principals)}
    found: dict[int, list[Edge]] = {id_: [] for (id_,) in await stores.rows(ENTITIES, params)}
    for source, target, *told in await stores.rows(RELATIONS, params):
        found[source].append(Edge(target, *told))
        found[target].append(Edge(source, *told))
    return found


def walks(
    known: Mapping[int, list[Edge]], walk: Walk, start: int, score: float, hop: int = 1
) -> Iterator[tuple[int, Arrival]]:
    """Where each walk from here ends. What is multiplied, and in which order, is the store's."""
    for edge in known[start]:
        factor = walk.factor(edge.type)
        if factor > 0 and walk.open_to(edge.first_seen, edge.last_seen):
            ratio = HOP_FACTORS[hop] / HOP_FACTORS[hop - 1]
            product = score * ratio * edge.weight * factor
            yield edge.end, Arrival(product, -hop, -start)
            if hop < walk.hops:
                yield from walks(known, walk, edge.end, product, hop + 1)


def expected(
    known: Mapping[int, list[Edge]], seeds: Mapping[int, float], walk: Walk
) -> list[tuple[int, Arrival]]:
    """The seeds, then the rest; a seed takes a better path if that is among the best of all."""
    roots = {seed: Arrival(score, 0, 0) for seed, score in seeds.items() if seed in known}
    best = dict[int, Arrival]()
    for seed, root in roots.items():
        for end, arrival in walks(known, walk, seed, root.score):
            if end in roots and arrival.score <= roots[end].score:
                continue
            best[end] = max(arrival, best.get(end, arrival))
    kept = dict(_ordered(best)[: walk.limit])
    first = {seed: kept.pop(seed, root) for seed, root in roots.items()}
    return [*_ordered(first), *_ordered(kept)]


def _ordered(found: Mapping[int, Arrival]) -> list[tuple[int, Arrival]]:
    return sorted(found.items(), key=lambda item: (-item[1].score, item[0]))


def explained(
    entity: ReachedEntity,
    seeds: Mapping[int, float],
    walk: Walk,
    names: Mapping[int, str],
    arrival: Arrival,
) -> None:
    """The path leads from the seed over the parent to the entity, and its product is the score."""
    path = entity["path"]
    assert entity["hop"] == len(path) == -arrival.fewer
    score, at = seeds[entity["seed"]], names[entity["seed"]]
    assert path or entity["seed"] == entity["id"]
    for hop, step in enumerate(path, 1):
        assert at in (step["source"], step["target"])
        if hop == len(path):
            assert at == names[-arrival.parent]
        at = step["target"] if at == step["source"] else step["source"]
        ratio = HOP_FACTORS[hop] / HOP_FACTORS[hop - 1]
        score = score * ratio * step["weight"] * walk.factor(step["type"])
    assert at == entity["name"]
    assert score == entity["score"]
