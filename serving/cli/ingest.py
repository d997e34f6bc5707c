"""`clew ingest`: take documents in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, cast

import typer

from .options import Json, Namespace

__all__ = ["ingest", "take_in"]


def ingest(
    paths: Annotated[
        list[str], typer.Argument(help="Markdown, text or JSONL files, or folders of them.")
    ],
    namespace: Namespace = "",
    acl: Annotated[
        list[str] | None,
        typer.Option("--acl", help="Who may read them; may be given again. Default: public."),
    ] = None,
    skip_malformed: Annotated[
        bool,
        typer.Option("--skip-malformed", help="Leave malformed documents out, and say so."),
    ] = False,
    sections: Annotated[
        bool | None,
        typer.Option(
            "--sections/--no-sections",
            help="Store groups of chunks for two-tier search. Default: CLEW_SECTIONS.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Take documents in: split, embed, find entities, write. Unchanged documents are skipped.

    [bold]clew ingest docs/ notes.jsonl -n handbook[/bold]
    """
    from . import render
    from .running import run

    report = run(lambda: take_in(paths, namespace, acl or ["public"], skip_malformed, sections))
    if as_json:
        render.json_output(report)
    else:
        render.ingested(report)


async def take_in(
    paths: list[str],
    namespace: str,
    acl: list[str],
    skip_malformed: bool,
    sections: bool | None = None,
) -> dict[str, Any]:
    """Run the ingestion graph under a progress bar; returns its report."""
    import time

    from ...graph.ingestion import graph
    from . import render

    begun = time.perf_counter()
    report: dict[str, Any] = {}
    given = {
        "paths": paths,
        "namespace": namespace,
        "acl": acl,
        "skip_malformed": skip_malformed,
        "sections": sections,
    }
    landed = read = 0
    with render.progress("Reading") as bar:
        stream = graph.astream(given, stream_mode=["custom", "values"])
        async for mode, payload in cast("AsyncIterator[tuple[str, Any]]", stream):
            if mode == "values":
                report = payload.get("report") or report
            elif payload["event"] == "loaded":
                landed, read = read, payload["done"]
                bar(landed, payload["total"], "Taking in")
            elif payload["event"] == "enriched":
                bar(landed, None, f"Asking {payload['done']}/{payload['total']}")
            elif payload["event"] == "written":
                # A batch is written while the one after it is embedded.
                bar(landed, None, "Taking in")
            elif payload["event"] == "compared":
                bar(payload["names"], payload["names"], "Names")
            elif payload["event"] == "projected":
                bar(payload["rows"], payload["rows"], "Copying")
        bar(read, read, "Done")
    return {**report, "seconds": round(time.perf_counter() - begun, 2)}
