"""`clew graph`: the picture of a state machine, from the compiled graph itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from .pages import replace_between

__all__ = ["graph", "mermaid"]


def graph(
    name: Annotated[
        Literal["retrieval", "ingestion"], typer.Argument(help="Which of the two graphs.")
    ] = "retrieval",
    into: Annotated[
        Path | None,
        typer.Option("--into", help="Replace the picture between its marks in a Markdown file."),
    ] = None,
) -> None:
    """Print the Mermaid diagram of a graph."""
    from . import render

    picture = mermaid(name)
    if into is None:
        render.plain(picture)
        return
    replace_between(into, f"graph:{name}", f"```mermaid\n{picture.strip()}\n```")


def mermaid(name: Literal["retrieval", "ingestion"]) -> str:
    """The diagram of one of the two graphs."""
    if name == "retrieval":
        from ...graph.retrieval import graph as compiled

        return compiled.get_graph().draw_mermaid()
    from ...graph.ingestion import graph as ingesting

    return ingesting.get_graph().draw_mermaid()
