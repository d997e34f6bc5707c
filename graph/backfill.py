"""The backfill: what is stored goes through the end of ingestion again, without its sources."""

from __future__ import annotations

from typing import Literal

from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ..context import RetrievalContext
from ..nodes.ingestion.embed import embed
from ..nodes.ingestion.enrich import enrich
from ..nodes.ingestion.find_unfinished import find_unfinished
from ..nodes.ingestion.recall import recall
from ..nodes.ingestion.write import write
from ..services import current_services
from ..state import BackfillInput, BackfillState, IngestionOutput
from .ingestion import AFTERWARDS, STEPS_A_RUN, TO_THE_END
from .steps import Branches, OpenServices, Step, wire

__all__ = ["BRANCHES", "EDGES", "STEPS", "build", "graph"]

STEPS = (
    Step(find_unfinished),
    Step(recall),
    Step(enrich),
    Step(embed),
    Step(write),
    *AFTERWARDS,
)

EDGES = (
    (START, "find_unfinished"),
    ("find_unfinished", "recall"),
    ("recall", "enrich"),
    ("enrich", "embed"),
    ("embed", "write"),
    *TO_THE_END,
)


def after_write(state: BackfillState) -> Literal["more", "done"]:
    """Go on while documents wait."""
    return "more" if state["waiting"] else "done"


BRANCHES: Branches = {
    "write": (after_write, {"more": "recall", "done": "weigh_relationships"}),
}
Backfill = CompiledStateGraph[BackfillState, RetrievalContext, BackfillInput, IngestionOutput]


def build(
    open_services: OpenServices,
) -> StateGraph[BackfillState, RetrievalContext, BackfillInput, IngestionOutput]:
    """The graph over the given services."""
    builder = StateGraph(
        BackfillState, RetrievalContext, input_schema=BackfillInput, output_schema=IngestionOutput
    )
    wire(builder, STEPS, EDGES, BRANCHES, open_services)
    return builder


graph: Backfill = (
    build(current_services).compile(name="backfill").with_config(recursion_limit=STEPS_A_RUN)
)
