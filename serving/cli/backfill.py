"""`clew backfill`: have a language model read what is stored, without its sources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, cast

import typer

from .options import Json, Namespace

__all__ = ["backfill"]


def backfill(
    namespace: Namespace = "",
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Documents at most; default: all of them.")
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Also documents that were read offline only, or by another model."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Have the language model read documents of which it gave no answer when they came in.

    They are read as they are stored: their files need not be there, and their text is not embedded
    again. What fails stays as it is and waits for the next time; a run that was stopped is simply
    run again.
    """
    from . import render
    from .running import run

    report = run(lambda: _complete(namespace, limit, every))
    if as_json:
        render.json_output(report)
    else:
        render.note(_said(report))


async def _complete(namespace: str, limit: int | None, every: bool) -> dict[str, Any]:
    """Run the backfill under a progress bar; returns its report."""
    import time

    from ...graph.backfill import graph
    from ...state import BackfillInput
    from . import render

    begun = time.perf_counter()
    given = BackfillInput(target=namespace or await _default(), every=every, limit=limit)
    report: dict[str, Any] = {}
    before = waited = 0
    with render.progress("Reading") as bar:
        stream = graph.astream(given, stream_mode=["custom", "values"])
        async for mode, payload in cast("AsyncIterator[tuple[str, Any]]", stream):
            if mode == "values":
                report = payload.get("report") or report
            elif payload["event"] == "recalled":
                before, waited = payload["done"], payload["total"]
                bar(before, waited, "Reading")
            elif payload["event"] == "enriched":
                bar(before + payload["done"], None, "Reading")
            elif payload["event"] == "compared":
                bar(payload["names"], payload["names"], "Names")
            elif payload["event"] == "projected":
                bar(payload["rows"], payload["rows"], "Copying")
    return {"waited": waited, **report, "seconds": round(time.perf_counter() - begun, 2)}


async def _default() -> str:
    from ...services import current_services

    return (await current_services()).settings.namespace


def _said(report: Mapping[str, Any]) -> str:
    """What became of the documents that waited, in a line."""
    waited = report["waited"]
    if not waited:
        return f"Nothing waits in {report['namespace']}."
    said = [f"{report['replaced']} of {waited} completed"]
    if report["unfinished_count"]:
        reasons = dict.fromkeys(one["reason"].rstrip(".") for one in report["unfinished"])
        said.append(f"{report['unfinished_count']} still pending: {'; '.join(reasons)}")
    if report["skipped_count"]:
        said.append(f"{report['skipped_count']} left alone: {report['skipped'][0]['reason']}")
    return "; ".join(said).rstrip(".") + "."
