"""The walk: from the seeds along relations, bounded, inside what the caller may read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from ...context import RetrievalContext
from ...models.chat import Chat
from ...models.periods import DateRange
from ...state import RetrievalState, RetrievalUpdate, Traversal
from ...stores.access import Access
from ...stores.cache import Cache, Scope
from ...stores.protocols import EntityStore, GraphStore
from ...stores.records import ReachedEntity
from ...stores.walk import Walk
from ._crossing import beyond, merged, twins_of
from ._seeds import at_seed
from ._synonyms import synonyms_wanted
from ._traversal import spoken

__all__ = ["expand_graph"]

Expand = Callable[[Mapping[int, float], Walk], Awaitable[Sequence[ReachedEntity]]]


async def expand_graph(
    state: RetrievalState,
    runtime: Runtime[RetrievalContext],
    *,
    graph: GraphStore,
    entities: EntityStore,
    paths: Cache[Sequence[ReachedEntity]],
    scope: Scope | None,
    walks_record: bool,
    chat: Chat | None,
    left_ms: float,
    access: Access,
) -> RetrievalUpdate:
    """Add the entities that the walk of `traversal` reaches from the seeds, best first.

    The walk leaves from what the question named, or, when it named nothing known, from the
    anchors; anchors that it does not come by stay where they are.
    Reads: seeds, traversal, synonyms_tried. Writes: entities (seeds first), traversal, expanded,
    sparse, synonyms_wanted. Raises: StoreUnavailable, StoreTimeout.
    """
    context = runtime.context
    anchors = {seed["id"]: seed for seed in state["seeds"] if seed["via"] == "anchor"}
    named = {s["id"]: s["score"] for s in state["seeds"] if s["id"] not in anchors}
    seeds = named or {id_: seed["score"] for id_, seed in anchors.items()}

    async def expand(seeds: Mapping[int, float], walk: Walk) -> Sequence[ReachedEntity]:
        # A copy may lag behind the versions that the scope holds; only the record cannot.
        if scope is None or not walks_record:
            return await graph.expand(seeds, walk=walk, access=access)
        key = scope, tuple(sorted(seeds.items())), _key(walk)
        known = paths.get(key)
        if known is None:
            known = tuple(await graph.expand(seeds, walk=walk, access=access))
            paths.put(key, known)
        return known

    reached, traversal = await _walked(seeds, state["traversal"], expand)
    if traversal["crosses"] and len(access.namespaces) > 1:
        twins = await twins_of(reached, entities=entities, access=access)
        scores = {id_: twin["score"] for id_, twin in twins.items()}
        further = await expand(scores, replace(_walk(traversal), hops=1)) if twins else ()
        reached = merged(
            reached, beyond(twins, further), seeds=seeds, limit=traversal["entity_limit"]
        )
    known = {entity["id"] for entity in reached}
    standing = [at_seed(seed) for id_, seed in anchors.items() if id_ not in known]
    # Anchors come with every question that search can answer; they say nothing about how much the
    # graph knows of what was asked.
    asked = known - anchors.keys()
    sparse = len(asked) < context.graph_min_entities_threshold
    return RetrievalUpdate(
        entities=[*reached, *standing],
        traversal=traversal,
        expanded=True,
        sparse=sparse,
        synonyms_wanted=sparse
        and synonyms_wanted(
            "sparse", chat=chat, context=context, tried=state["synonyms_tried"], left_ms=left_ms
        ),
    )


async def _walked(
    seeds: Mapping[int, float], traversal: Traversal, expand: Expand
) -> tuple[Sequence[ReachedEntity], Traversal]:
    """What the walk reached, and the traversal that it was, without a period that held nothing."""
    reached = await expand(seeds, _walk(traversal))
    span = spoken(DateRange(date_from=traversal["date_from"], date_to=traversal["date_to"]))
    if not span or not traversal["relax"] or any(entity["hop"] for entity in reached):
        return reached, traversal
    why = [*traversal["why"], f"walked without dates: no relation was seen {span}"]
    undated = Traversal(**{**traversal, "date_from": None, "date_to": None, "why": why})
    return await expand(seeds, _walk(undated)), undated


def _walk(traversal: Traversal) -> Walk:
    return Walk(
        hops=traversal["hops"],
        limit=traversal["entity_limit"],
        type_weights=traversal["relation_weights"],
        default_weight=traversal["default_weight"],
        date_from=traversal["date_from"],
        date_to=traversal["date_to"],
    )


def _key(walk: Walk) -> tuple[object, ...]:
    weights = tuple(sorted(walk.type_weights.items()))
    return walk.hops, walk.limit, weights, walk.default_weight, walk.date_from, walk.date_to
