"""The reference's walk against every walk there is, over a graph put together a second time."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings

from clew.stores.access import Access
from clew.stores.records import CO_OCCURS, DocumentDraft, ReachedEntity
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


Bond = tuple[Node, str, Node]
"""A relation: source, type and target."""


def proofs(namespace: str, draft: DocumentDraft) -> Iterator[tuple[Bond, tuple[str, int], float]]:
    """The relations a document bears out, where, and how surely."""
    for said in draft["relationships"]:
        source, target = (namespace, said["source"][0]), (namespace, said["target"][0])
        if source != target:
            for place in said["evidence"]:
                yield (source, said["type"], target), (draft["key"], place), said["confidence"]


def weigh(documents: Sequence[tuple[str, DocumentDraft]]) -> dict[Bond, float]:
    """What every relation weighs when these documents are all there is."""
    proof = defaultdict[Bond, dict[tuple[str, int], float]](dict)
    chunks, df = Counter[str](), Counter[Node]()
    for namespace, draft in documents:
        for bond, spot, confidence in proofs(namespace, draft):
            proof[bond][spot] = max(confidence, proof[bond].get(spot, 0.0))
        chunks[namespace] += len(draft["chunks"])
        for one in draft["chunks"]:
            df.update({(namespace, mention["name"]) for mention in one["mentions"]})
    weights = {}
    for (source, kind, target), spots in proof.items():
        n, total = len(spots), chunks[source[0]]
        surest = float(np.float32(max(spots.values())))
        if kind == CO_OCCURS:
            n = min(n, df[source], df[target])
            chance = df[source] / total * df[target] / total
            npmi = math.log(n / total / chance) / -math.log(n / total) if n < total else 1.0
            surest *= (1 + npmi) / 2
        weight = surest * n / (n + 1)
        weights[source, kind, target] = max(weight, 0.01) if kind == CO_OCCURS else weight
    return weights


def weights(steps: Sequence[Step]) -> dict[Bond, float]:
    """What every relation weighs after a history, which is told step by step."""
    known: dict[Bond, float] = {}
    weighed = Counter[str]()
    for at, step in enumerate(steps):
        before, after = left(steps[:at]), left(steps[: at + 1])
        place = (step.namespace, step.draft["key"])
        touched = {
            bond
            for namespace, draft in [*before, *after]
            for bond, *_ in proofs(namespace, draft)
            if (namespace, draft["key"]) == place
        }
        size = sum(len(draft["chunks"]) for name, draft in after if name == step.namespace)
        if step.weigh and abs(size - weighed[step.namespace]) >= max(
            0.2 * weighed[step.namespace], 1
        ):
            weighed[step.namespace] = size
            touched |= {bond for bond in known if bond[0][0] == step.namespace}
        present = weigh(after)
        known = {
            bond: weight if bond in touched else known[bond] for bond, weight in present.items()
        }
    return known


def edges(
    steps: Sequence[Step], weighed: Mapping[Bond, float], walk: Walk, access: Access
) -> dict[Node, list[Edge]]:
    """What may be walked from each entity, from the drafts alone."""
    days = defaultdict[Bond, list[str]](list)
    seen = set[Bond]()
    found: dict[Node, list[Edge]] = {}
    for namespace, draft in left(steps):
        open_ = readable(namespace, draft, access)
        for one in draft["entities"] if open_ else ():
            found.setdefault((namespace, one["name"]), [])
        for bond, *_ in proofs(namespace, draft):
            days[bond] += [draft["date"]] if draft["date"] else []
            seen |= {bond} if open_ else set()
    dated = walk.date_from is not None or walk.date_to is not None
    for bond in seen:
        source, kind, target = bond
        if dated and not (
            days[bond]
            and (walk.date_to is None or min(days[bond]) <= walk.date_to)
            and (walk.date_from is None or max(days[bond]) >= walk.date_from)
        ):
            continue
        weight = float(np.float32(weighed[bond]))
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
    weighed = weights(scene.steps)
    for access in ACCESSES:
        for walk in scene.walks:
            reached = await backend.graph.expand(
                {ids[node]: worth for node, worth in seeds.items()}, walk=walk, access=access
            )
            known_edges = edges(scene.steps, weighed, walk, access)
            assert as_answer(reached, nodes) == expected(known_edges, seeds, walk, ids)
