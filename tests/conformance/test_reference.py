"""The reference's walk against every walk there is, over a graph put together a second time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings

from clew.stores.access import Access
from clew.stores.records import DocumentDraft, ReachedEntity
from clew.stores.walk import Walk

from .backends import memory_backend
from .scenes import ACCESSES, NAMESPACES, GraphScene, Step, graphs, live

HOP_FACTORS = (1.0, 1.0, 0.6, 0.3)

Node = tuple[str, str]
"""A namespace and a name."""


class Edge(NamedTuple):
    end: Node
    type: str
    weight: float


class Found(NamedTuple):
    """A walk: what it is worth, its length, and where it was before it came where it ends."""

    score: float
    length: int
    parent: Node


def left(steps: Sequence[Step]) -> list[tuple[str, DocumentDraft]]:
    """The documents that are there in the end."""
    documents: dict[tuple[str, str], DocumentDraft] = {}
    for step in steps:
        place = (step.namespace, step.draft["key"])
        documents.pop(place, None)
        if not step.delete:
            documents[place] = step.draft
    return [(namespace, draft) for (namespace, _), draft in documents.items()]


def readable(namespace: str, draft: DocumentDraft, access: Access) -> bool:
    return namespace in access.namespaces and bool({*draft["acl"]} & {*access.principals})


def edges(steps: Sequence[Step], walk: Walk, access: Access) -> dict[Node, list[Edge]]:
    """What may be walked from each entity, from the drafts alone."""
    proof = defaultdict[tuple[Node, str, Node], dict[tuple[str, int], float]](dict)
    days = defaultdict[tuple[Node, str, Node], list[str]](list)
    seen = set[tuple[Node, str, Node]]()
    found: dict[Node, list[Edge]] = {}
    for namespace, draft in left(steps):
        open_ = readable(namespace, draft, access)
        for one in draft["entities"] if open_ else ():
            found.setdefault((namespace, one["name"]), [])
        for said in draft["relationships"]:
            source, target = (namespace, said["source"][0]), (namespace, said["target"][0])
            if source == target:
                continue
            relation = (source, said["type"], target)
            for place in said["evidence"]:
                spot = (draft["key"], place)
                proof[relation][spot] = max(said["confidence"], proof[relation].get(spot, 0.0))
            days[relation] += [draft["date"]] if draft["date"] else []
            seen |= {relation} if open_ else set()
    dated = walk.date_from is not None or walk.date_to is not None
    for relation in seen:
        source, kind, target = relation
        if dated and not (
            days[relation]
            and (walk.date_to is None or min(days[relation]) <= walk.date_to)
            and (walk.date_from is None or max(days[relation]) >= walk.date_from)
        ):
            continue
        count = len(proof[relation])
        surest = float(np.float32(max(proof[relation].values())))
        weight = float(np.float32(surest * count / (count + 1)))
        found[source].append(Edge(target, kind, weight))
        found[target].append(Edge(source, kind, weight))
    return found


def every_walk(
    known: Mapping[Node, list[Edge]], start: Node, worth: float, walk: Walk, length: int = 1
) -> Iterator[tuple[Node, Found]]:
    """Each walk from here of no more relations than allowed, whether it crosses itself or not."""
    for edge in known[start]:
        factor = walk.type_weights.get(edge.type, walk.default_weight)
        product = worth * edge.weight * factor
        if product > 0:
            yield edge.end, Found(product * HOP_FACTORS[length], length, start)
            if length < walk.hops:
                yield from every_walk(known, edge.end, product, walk, length + 1)


Answer = list[tuple[Node, float, int, Node | None]]
"""Entities with their score, hops, and the last stop before them."""


def expected(
    known: Mapping[Node, list[Edge]],
    seeds: Mapping[Node, float],
    walk: Walk,
    ids: Mapping[Node, int],
) -> Answer:
    roots = {node: worth for node, worth in seeds.items() if node in known}
    walks = defaultdict[Node, list[Found]](list)
    for node, worth in roots.items():
        for end, found in every_walk(known, node, worth, walk):
            walks[end].append(found)

    def best(end: Node) -> Found:
        return min(walks[end], key=lambda one: (-one.score, one.length, ids[one.parent]))

    reached = {end: best(end) for end in walks if best(end).score > roots.get(end, 0.0)}
    first = sorted(reached, key=lambda end: (-reached[end].score, ids[end]))[: walk.limit]
    answer: Answer = [(end, *reached[end]) for end in first]
    seeded: Answer = [(end, worth, 0, None) for end, worth in roots.items() if end not in first]
    seeded += [one for one in answer if one[0] in roots]
    rest = [one for one in answer if one[0] not in roots]
    return [
        *sorted(seeded, key=lambda one: (-one[1], ids[one[0]])),
        *sorted(rest, key=lambda one: (-one[1], ids[one[0]])),
    ]


def as_answer(reached: Sequence[ReachedEntity], nodes: Mapping[int, Node]) -> Answer:
    answer: Answer = []
    for one in reached:
        node, parent = nodes[one["id"]], None
        if one["path"]:
            step = one["path"][-1]
            name = step["source"] if step["target"] == one["name"] else step["target"]
            parent = (node[0], name)
        answer.append((node, one["score"], one["hop"], parent))
    return answer


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[*HealthCheck],
)
@given(graphs())
def test_the_reference_finds_the_best_of_every_walk_there_is(scene: GraphScene) -> None:
    # Unlike asyncio.run, this leaves the loop of the other tests where it is.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(best_of_every_walk(scene))


async def best_of_every_walk(scene: GraphScene) -> None:
    backend = memory_backend()
    await live(backend, scene.steps)
    ids: dict[Node, int] = {}
    for namespace in NAMESPACES:
        known = await backend.known(namespace)
        ids |= {(namespace, one["name"]): id_ for id_, one in known.entities.items()}
    nodes = {id_: node for node, id_ in ids.items()}
    seeds = {node: scene.seeds[node[1]] for node in ids if node[1] in scene.seeds}
    for access in ACCESSES:
        for walk in scene.walks:
            reached = await backend.graph.expand(
                {ids[node]: worth for node, worth in seeds.items()}, walk=walk, access=access
            )
            known_edges = edges(scene.steps, walk, access)
            assert as_answer(reached, nodes) == expected(known_edges, seeds, walk, ids)
