"""What is drawn and written about the graphs is what they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import pytest
from langgraph.graph import END, START

from clew.graph import ingestion, retrieval
from clew.serving.cli.diagram import mermaid
from clew.serving.cli.summary import _SUMMARIES

README = Path(__file__).parents[2] / "README.md"
GRAPHS = {"retrieval": retrieval, "ingestion": ingestion}
BRANCHES = [
    pytest.param(graph, node, id=f"{name} {node}")
    for name, graph in GRAPHS.items()
    for node in graph.BRANCHES
]


@pytest.mark.parametrize("name", ["retrieval", "ingestion"])
def test_the_picture_in_the_readme_is_the_graph(name: Literal["retrieval", "ingestion"]) -> None:
    text = README.read_text("utf-8")
    drawn = re.findall(rf"<!-- graph:{name} -->\n(.*?)<!-- /graph:{name} -->", text, re.DOTALL)
    assert drawn == [f"```mermaid\n{mermaid(name).strip()}\n```\n"], "run `make docs`"


@pytest.mark.parametrize("name", ["retrieval", "ingestion"])
def test_every_step_and_every_edge_with_a_reason_is_in_the_picture(
    name: Literal["retrieval", "ingestion"],
) -> None:
    picture = mermaid(name)
    graph = GRAPHS[name]
    for step in graph.STEPS:
        assert re.search(rf"^\s*{step.name}\(", picture, re.MULTILINE), step.name
    for node, (_, targets) in graph.BRANCHES.items():
        for target in set(targets.values()):
            # LangGraph draws one of the reasons that lead to the same place.
            (label,) = re.findall(rf"{node} -\. &nbsp;(.*)&nbsp; \.-> {target};", picture)
            assert targets[label] == target


def reasons_of(router: Callable[..., Any]) -> set[str]:
    """The literals a router may return, one or a list of them."""
    hint = get_type_hints(router)["return"]
    (inner,) = get_args(hint) if getattr(hint, "__origin__", None) is list else (hint,)
    return set(get_args(inner))


@pytest.mark.parametrize(("graph", "node"), BRANCHES)
def test_a_routers_reasons_and_its_edges_are_the_same(graph: Any, node: str) -> None:
    router, targets = graph.BRANCHES[node]
    reasons = reasons_of(router)
    assert reasons
    assert reasons == set(targets)
    assert set(targets.values()) <= {step.name for step in graph.STEPS}


@pytest.mark.parametrize("name", ["retrieval", "ingestion"])
def test_every_step_is_entered_and_left(name: str) -> None:
    graph: Any = GRAPHS[name]
    steps = {step.name for step in graph.STEPS}
    edges = set(graph.EDGES) | {
        (node, target)
        for node, (_, targets) in graph.BRANCHES.items()
        for target in targets.values()
    }
    assert {target for _, target in edges} - {END} == steps
    assert {source for source, _ in edges} - {START} == steps
    plain = {source for source, _ in graph.EDGES}
    assert not plain & set(graph.BRANCHES), "a node has edges or a router, not both"


def test_every_step_of_a_question_has_its_line_in_the_trace() -> None:
    assert [*_SUMMARIES] == [step.name for step in retrieval.STEPS]
