"""`clew demo`: the bundled corpus and one two-hop question, from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["QUESTION", "demo"]

CORPUS = Path(__file__).parents[2] / "demo" / "corpus"
QUESTION = "Where was the wife of Lou Breslow born?"
NAMESPACE = "demo"


def demo(
    question: Annotated[str, typer.Argument(help="Another question for the corpus.")] = QUESTION,
) -> None:
    """Ingest the bundled corpus and trace one two-hop question through it."""
    from ...context import RetrievalContext
    from ...stores.errors import InvalidInput
    from . import render, traces
    from .ingest import take_in
    from .running import given, run, watch

    if not CORPUS.is_dir():
        raise InvalidInput("The demo corpus comes with a checkout of Clew; clone the repository.")

    async def show() -> None:
        report = await take_in([str(CORPUS)], NAMESPACE, ["public"], skip_malformed=False)
        render.ingested(report)
        table = traces.Rows()
        # Cold caches and a slow machine should not make the first answer a degraded one.
        patient = RetrievalContext(budget_ms=20_000, search_ms=5_000, graph_ms=5_000, top_k=5)
        async for seen in watch(given(question, [NAMESPACE]), patient):
            table.step(seen)
        table.finish()

    run(show)
