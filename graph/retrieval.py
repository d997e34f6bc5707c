"""The retrieval state machine: a table of steps and a table of edges.

A question goes in; passages, the map of their entities and the thread to each come out.
"""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ..context import RetrievalContext
from ..nodes.retrieval.admit import admit
from ..nodes.retrieval.build_context import build_context
from ..nodes.retrieval.expand_graph import expand_graph
from ..nodes.retrieval.extract_entities import extract_entities
from ..nodes.retrieval.filter_access import filter_access
from ..nodes.retrieval.generate_synonyms import generate_synonyms
from ..nodes.retrieval.link_entities import link_entities
from ..nodes.retrieval.link_passages import link_passages
from ..nodes.retrieval.map_relationships import map_relationships
from ..nodes.retrieval.merge_results import merge_results
from ..nodes.retrieval.rerank_entities import rerank_entities
from ..nodes.retrieval.rerank_passages import rerank_passages
from ..nodes.retrieval.retrieve_entity_chunks import retrieve_entity_chunks
from ..nodes.retrieval.search_passages import search_passages
from ..services import current_services
from ..state import RetrievalInput, RetrievalOutput, RetrievalState
from . import routing
from .routing import OUT_OF_TIME
from .steps import Branches, OpenServices, Step, wire

__all__ = ["BRANCHES", "EDGES", "STEPS", "build", "graph"]


def searching(state: RetrievalState) -> str:
    """How long a search may take: when nothing else can answer, as long as there is time."""
    return "search_ms" if state["plan"]["mode"] == "hybrid" else "budget_ms"


def without_links(state: RetrievalState) -> str:
    """What an answer lacks when names were not linked."""
    return "synonyms add nothing" if state["expanded"] else "the graph is left out"


STEPS = (
    Step(admit, ceiling="budget_ms"),
    Step(search_passages, effect="passages come through the graph only", ceiling=searching),
    Step(extract_entities, effect="the question's entities are unknown", ceiling="llm_ms"),
    Step(link_entities, effect=without_links, ceiling="graph_ms"),
    Step(expand_graph, effect="the graph is left out", ceiling="graph_ms"),
    Step(
        generate_synonyms,
        effect="no synonyms were tried",
        ceiling="llm_ms",
        otherwise={"synonyms_tried": True, "synonyms_wanted": False},
    ),
    Step(rerank_entities, effect="entities keep the order of the walk", ceiling="graph_ms"),
    Step(
        retrieve_entity_chunks,
        effect="no passages come through the graph",
        ceiling="graph_ms",
    ),
    Step(merge_results, ceiling="budget_ms"),
    Step(filter_access, ceiling="budget_ms"),
    Step(link_passages, effect="passages stand by the first stage alone", ceiling="search_ms"),
    Step(rerank_passages, effect="the cross-encoder was left out", ceiling="search_ms"),
    Step(map_relationships, effect="no relationship map", ceiling="graph_ms"),
    Step(build_context),
)

EDGES = (
    (START, "admit"),
    ("extract_entities", "link_entities"),
    ("generate_synonyms", "link_entities"),
    ("retrieve_entity_chunks", "merge_results"),
    ("merge_results", "filter_access"),
    ("map_relationships", "build_context"),
    ("build_context", END),
)

BRANCHES: Branches = {
    "admit": (
        routing.after_admit,
        {"search": "search_passages", "understand": "extract_entities"},
    ),
    "search_passages": (
        routing.after_search,
        {"hybrid": "link_entities", "search only": "merge_results"},
    ),
    "link_entities": (
        routing.after_link,
        {
            "linking failed": "merge_results",
            OUT_OF_TIME: "merge_results",
            "already expanded": "rerank_entities",
            "seeds": "expand_graph",
            "no seeds yet": "generate_synonyms",
            "nothing to walk from": "merge_results",
        },
    ),
    "expand_graph": (
        routing.after_expand,
        {
            "walk failed": "merge_results",
            OUT_OF_TIME: "merge_results",
            "sparse": "generate_synonyms",
            "enough": "rerank_entities",
        },
    ),
    "rerank_entities": (
        routing.in_time,
        {"in time": "retrieve_entity_chunks", OUT_OF_TIME: "merge_results"},
    ),
    "filter_access": (
        routing.in_time,
        {"in time": "link_passages", OUT_OF_TIME: "build_context"},
    ),
    "link_passages": (
        routing.in_time,
        {"in time": "rerank_passages", OUT_OF_TIME: "build_context"},
    ),
    "rerank_passages": (
        routing.after_rerank,
        {
            "entities": "map_relationships",
            "no entities": "build_context",
            OUT_OF_TIME: "build_context",
        },
    ),
}
# Callers hand over a plain dictionary; `admit` validates it as a `RetrievalInput`.
Retrieval = CompiledStateGraph[RetrievalState, RetrievalContext, Any, RetrievalOutput]


def build(
    open_services: OpenServices,
) -> StateGraph[RetrievalState, RetrievalContext, Any, RetrievalOutput]:
    """The graph over the given services; compile it with the checkpointer you want."""
    builder = StateGraph(
        RetrievalState,
        RetrievalContext,
        input_schema=RetrievalInput,
        output_schema=RetrievalOutput,
    )
    wire(builder, STEPS, EDGES, BRANCHES, open_services)
    return builder


graph: Retrieval = build(current_services).compile(name="retrieval")
