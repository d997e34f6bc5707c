"""The ingestion state machine: the same kind of table, around a loop over batches.

`embed` and `write` share a step and both lead to `load`, which therefore runs once.
"""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from ..context import RetrievalContext
from ..nodes.ingestion.build_sections import build_sections
from ..nodes.ingestion.compare_names import compare_names
from ..nodes.ingestion.detect_relationships import detect_relationships
from ..nodes.ingestion.embed import embed
from ..nodes.ingestion.enrich import enrich
from ..nodes.ingestion.extract import extract
from ..nodes.ingestion.load import load
from ..nodes.ingestion.project import project
from ..nodes.ingestion.report import report
from ..nodes.ingestion.scan import scan
from ..nodes.ingestion.split import split
from ..nodes.ingestion.weigh_relationships import weigh_relationships
from ..nodes.ingestion.write import write
from ..services import current_services
from ..state import IngestionInput, IngestionOutput, IngestionState
from . import routing
from .steps import Branches, OpenServices, Step, wire

__all__ = [
    "AFTERWARDS",
    "BRANCHES",
    "EDGES",
    "STEPS",
    "STEPS_A_RUN",
    "TO_THE_END",
    "build",
    "graph",
]


AFTERWARDS = (
    Step(weigh_relationships, effect="co-occurrences weigh as they did among fewer or more texts"),
    Step(compare_names, effect="names that mean nearly the same do not link passages yet"),
    Step(project, effect="the copy of the graph is behind until `clew sync` has run"),
    Step(report),
)
"""Once everything has landed."""

STEPS = (
    Step(scan),
    Step(load),
    Step(split),
    Step(extract),
    Step(detect_relationships),
    Step(enrich),
    Step(build_sections),
    Step(embed),
    Step(write),
    *AFTERWARDS,
)

TO_THE_END = (
    ("weigh_relationships", "compare_names"),
    ("compare_names", "project"),
    ("project", "report"),
    ("report", END),
)

EDGES = (
    (START, "scan"),
    ("scan", "load"),
    ("split", "extract"),
    ("extract", "detect_relationships"),
    ("detect_relationships", "enrich"),
    ("enrich", "build_sections"),
    # One step: a batch is embedded while the one before it is written.
    ("build_sections", "embed"),
    ("build_sections", "write"),
    ("embed", "load"),
    *TO_THE_END,
)

BRANCHES: Branches = {
    "load": (
        routing.after_load,
        {
            "documents": "split",
            "all unchanged": "load",
            "last batch": "write",
            "done": "weigh_relationships",
        },
    ),
    "write": (routing.after_write, {"more": "load", "done": "weigh_relationships"}),
}
STEPS_A_RUN = 10_000_000
"""LangGraph stops a run that takes more: a loop that is none ends with its documents."""

# Callers hand over a plain dictionary; `scan` validates it as an `IngestionInput`.
Ingestion = CompiledStateGraph[IngestionState, RetrievalContext, Any, IngestionOutput]


def build(
    open_services: OpenServices,
) -> StateGraph[IngestionState, RetrievalContext, Any, IngestionOutput]:
    """The graph over the given services; compile it with the checkpointer you want."""
    builder = StateGraph(
        IngestionState, RetrievalContext, input_schema=IngestionInput, output_schema=IngestionOutput
    )
    wire(builder, STEPS, EDGES, BRANCHES, open_services)
    return builder


graph: Ingestion = (
    build(current_services).compile(name="ingestion").with_config(recursion_limit=STEPS_A_RUN)
)
