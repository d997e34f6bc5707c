"""`clew review`: people decide about the names that extraction was not sure of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...evaluation.curated import CuratedList
    from ...evaluation.review import Review
    from ...models.recognizer import CuratedEntity

__all__ = ["review"]


def review(
    paths: Annotated[
        list[str], typer.Argument(help="Markdown, text or JSONL files, or folders of them.")
    ],
    into: Annotated[
        Path | None,
        typer.Option("--into", help="The YAML list to add to. Default: CLEW_CURATED_ENTITIES."),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", help="A NAME or NAME=TYPE to recognise; may be given again."),
    ] = None,
    reject: Annotated[
        list[str] | None,
        typer.Option("--reject", help="A NAME not to be shown again; may be given again."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Names shown.")] = 30,
    as_json: Json = False,
) -> None:
    """Show the names that ingestion leaves out as doubtful; accept or reject them.

    [bold]clew review docs/ --accept Dutch=Nationality --into curated.yaml[/bold]
    """
    from ...evaluation.curated import CuratedList, decisions
    from ...settings import load_settings
    from ...stores.errors import InvalidInput
    from . import render

    used = load_settings().curated_entities
    path = into or used
    accepted, rejected = decisions(accept or [], reject or [])
    if path is None and (accepted or rejected):
        raise InvalidInput(
            "There is no list to keep this in; give --into FILE, or set CLEW_CURATED_ENTITIES."
        )
    listed = CuratedList(path) if path else None
    report = _decide(_read(paths), listed, accepted, rejected)
    if as_json:
        render.json_output({**report, "names": report["names"][:limit]})
        return
    for line in _said(report):
        render.note(line)
    if report["accepted"] and path:
        unused = used is None or path.resolve() != used.resolve()
        first = f"set CLEW_CURATED_ENTITIES={path}, and " if unused else ""
        render.note(f"{path} has changed: {first}the next `clew ingest` reads documents again.")
    _show(report, limit)


def _read(paths: list[str]) -> Review:
    import asyncio

    from ...evaluation.review import review as read
    from ...models.recognizer import Recognizer
    from ...settings import load_settings
    from . import render

    settings = load_settings()
    recognizer = Recognizer.load(settings.curated_entities)
    with render.progress("Reading") as bar:
        return asyncio.run(
            read(paths, recognizer, settings, lambda done, total: bar(done, total, "Reading"))
        )


def _decide(
    seen: Review,
    listed: CuratedList | None,
    accepted: Sequence[CuratedEntity],
    rejected: Sequence[str],
) -> dict[str, Any]:
    """Write the decisions down; what became of them, and the names that are left."""
    from dataclasses import asdict

    from ...models.names import normalise

    doubtful = {normalise(one.name) for one in seen.names}
    added: list[CuratedEntity] = []
    decided: set[str] = set()
    if listed:
        added = listed.accept(accepted)
        listed.reject(rejected)
        decided = listed.decided
    left = [asdict(one) for one in seen.names if normalise(one.name) not in decided]
    asked = [*(one.name for one in accepted), *rejected]
    return {
        "documents": seen.documents,
        "skipped": seen.skipped,
        "accepted": [{"name": one.name, "type": one.type} for one in added],
        "already_listed": [one.name for one in accepted if one not in added],
        "rejected": list(rejected),
        "not_doubtful": [name for name in asked if normalise(name) not in doubtful],
        "doubtful": len(left),
        "names": left,
    }


def _said(report: dict[str, Any]) -> list[str]:
    accepted = [f"{one['name']} ({one['type']})" for one in report["accepted"]]
    lists = (
        ("Accepted", accepted),
        ("Listed already", report["already_listed"]),
        ("Rejected", report["rejected"]),
        ("Not among the doubtful names of these documents", report["not_doubtful"]),
    )
    return [
        *(f"Left out {one['source']}: {one['reason']}." for one in report["skipped"]),
        *(f"{what}: {', '.join(names)}." for what, names in lists if names),
    ]


def _show(report: dict[str, Any], limit: int) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from . import render

    names, documents = report["names"], report["documents"]
    if not names:
        render.note(f"No doubtful name is left; documents read: {documents:,}.")
        return
    shown = min(limit, len(names))
    title = f"{shown:,} of {len(names):,} doubtful names; documents read: {documents:,}"
    grid = Table(title=title, title_justify="left")
    grid.add_column("name")
    for column in ("often", "documents", "confidence"):
        grid.add_column(column, justify="right")
    grid.add_column("for example")
    for one in names[:shown]:
        numbers = f"{one['count']:,}", f"{one['documents']:,}", f"{one['confidence']:.2f}"
        grid.add_row(escape(one["name"]), *numbers, escape(one["example"]))
    Console().print(grid)
    render.note("--accept NAME=TYPE takes a name in, --reject NAME does not show it again.")
