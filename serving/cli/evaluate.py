"""`clew eval`: recall and latency on questions whose passages are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Hops, Json, Overrides, context_from

__all__ = ["evaluate"]


def evaluate(
    dataset: Annotated[
        Path, typer.Argument(help="Folder with corpus.jsonl and queries.jsonl.", exists=True)
    ],
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Default: eval-<folder name>.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", help="Only the first N questions.")] = 0,
    hops: Hops = None,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Ingest a dataset into a namespace of its own, ask its questions, print recall and latency."""
    patient = ["budget_ms=60000", "search_ms=30000", "graph_ms=30000", "top_k=20"]
    context = context_from([*patient, *(overrides or [])], hops=hops)
    from ...evaluation.datasets import load_questions
    from ...evaluation.runner import measure
    from . import render
    from .ingest import take_in
    from .running import run

    questions = load_questions(dataset)[: limit or None]
    space = namespace or f"eval-{dataset.resolve().name}"

    async def work() -> None:
        report = await take_in([str(dataset / "corpus.jsonl")], space, ["public"], False)
        with render.progress("Asking") as bar:
            result = await measure(
                questions, space, context, lambda done: bar(done, len(questions), "Asking")
            )
        if as_json:
            render.json_output({"dataset": dataset.name, "ingestion": report, **result})
            return
        render.ingested(report)
        render.table(
            f"{dataset.name}: {len(questions)} questions",
            ["", *result["quality"]],
            [["all", *(f"{100 * value:.1f}" for value in result["quality"].values())]],
        )
        render.table(
            "milliseconds",
            ["step", "p50", "p95", "p99"],
            [[n, *(f"{v:.1f}" for v in p.values())] for n, p in result["ms"].items()],
        )
        if result["degraded"]:
            render.note(f"{result['degraded']} runs were degraded.")

    run(work)
