"""`clew eval extraction`: what offline extraction finds, held against a recorded graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Json

__all__ = ["extraction"]


def extraction(
    dataset: Annotated[
        Path, typer.Argument(help="Folder with corpus.jsonl and kg.jsonl.", exists=True)
    ],
    limit: Annotated[int, typer.Option("--limit", min=0, help="Only the first N passages.")] = 0,
    as_json: Json = False,
) -> None:
    """Compare the names that Clew finds offline with those that kg.jsonl lists; stores nothing."""
    import asyncio

    from ...evaluation.extraction import load_passages, measure_extraction
    from ...models.recognizer import Recognizer
    from ...settings import load_settings
    from . import render

    pairs = load_passages(dataset)[: limit or None]
    recognizer = Recognizer.load(load_settings().curated_entities)
    with render.progress("Reading") as bar:
        report = asyncio.run(
            measure_extraction(pairs, recognizer, lambda done: bar(done, len(pairs), "Reading"))
        )
    if as_json:
        render.json_output({"dataset": dataset.name, **report})
    else:
        _tables(f"{dataset.name}: {report['passages']} passages", report)


def _tables(title: str, report: dict[str, Any]) -> None:
    from . import render

    columns = ["", "count", "exact", "or partial", "exact, by passage", "or partial, by passage"]
    shares = ("exact", "partial", "macro exact", "macro partial")
    for measure in ("recall", "precision"):
        rows = [
            [kind, str(found["count"]), *(f"{100 * found[share]:.1f}" for share in shares)]
            for kind, found in report[measure].items()
        ]
        render.table(f"{title}, {measure}", columns, rows)
    render.table(
        "triples",
        ["", "count", "both ends found", "related"],
        [
            [group, str(one["count"]), *(f"{100 * one[s]:.1f}" for s in ("found", "related"))]
            for group, one in report["triples"].items()
        ],
    )
    for measure, said in (("recall", "Most often missed"), ("precision", "Most often ours alone")):
        for kind, found in report[measure].items():
            if found["examples"]:
                render.note(f"{said} ({kind}): {', '.join(found['examples'])}")
    render.note(
        "A name holds a capital letter and is no date; partial: one contains the other as words."
    )
