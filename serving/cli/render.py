"""What people see: tables, trees and bars. Nothing here asks a store or changes a state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.tree import Tree

__all__ = [
    "answer",
    "aside",
    "check_table",
    "cost",
    "ingested",
    "json_output",
    "lost",
    "note",
    "plain",
    "progress",
    "show",
    "tree",
    "width",
]

_console = Console()
_errors = Console(stderr=True)

SHOWN = 300
"""Characters of a passage in a list; the whole stands in --context and --json."""


def plain(text: str) -> None:
    """Text as it is, for pipes."""
    _console.file.write(text.rstrip("\n") + "\n")


def note(text: str) -> None:
    """One line for people."""
    _console.print(escape(text))


def aside(text: str) -> None:
    """Text as it is, on standard error, beside what goes to pipes."""
    _errors.file.write(text + "\n")


def json_output(value: Mapping[str, Any]) -> None:
    """JSON for programs; LangChain documents as their fields."""
    plain(json.dumps(value, ensure_ascii=False, indent=2, default=lambda d: d.model_dump()))


@contextmanager
def progress(first: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """A bar on standard error; call it with done, total (or None) and what is being done."""
    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_errors) as bar:
        task = bar.add_task(first, total=None)

        def update(done: int, total: int | None, doing: str) -> None:
            if total is None:
                bar.update(task, completed=done, description=doing)
            else:
                bar.update(task, completed=done, total=total, description=doing)

        yield update


def ingested(report: Mapping[str, Any]) -> None:
    """What landed, what was left out and why."""
    landed = report["written"] + report["replaced"]
    rate = f", {landed / report['seconds']:.0f} a second" if landed else ""
    if report["chunks"]:
        encoder = 1000 * report["chunks"] / report["encoder_ms"]
        rate += f"; the encoder alone did {encoder:.0f} chunks a second"
    _console.print(
        f"[bold]{escape(report['namespace'])}[/bold]: {report['written']} written, "
        f"{report['replaced']} replaced, {report['unchanged']} unchanged, "
        f"{report['skipped_count']} skipped in {report['seconds']:.1f} s{rate}."
    )
    if "sections" in report:
        _console.print(
            f"  {report['sections']} sections; {report['without_sections']} documents have none."
        )
    for entry in report["degraded"]:
        _console.print(f"  [yellow]{escape(entry['effect'])}[/yellow]: {escape(entry['reason'])}")
    if "llm" in report:
        _console.print(f"  {cost(report['llm'])}.")
    for skipped in report["skipped"]:
        _console.print(
            f"  [yellow]skipped[/yellow] {escape(skipped['source'])}: {escape(skipped['reason'])}"
        )


def answer(output: Mapping[str, Any]) -> None:
    """The passages, each with the thread that led to it, then the map and what was missing."""
    for document in output["documents"]:
        data = document.metadata
        head = (
            f"[bold]{data['rank']}. {escape(data['title'])}[/bold]  [dim]{escape(data['source'])}"
        )
        text = document.page_content.replace("\n", " ")
        text = text if len(text) <= SHOWN else text[:SHOWN] + " …"
        _console.print(f"{head}[/dim]  {data['score']:.3f}")
        _console.print(f"   {escape(text)}")
        _console.print(f"   [cyan]{escape(data['trail']['thread'])}[/cyan]\n")
    if not output["documents"]:
        _console.print("No passage matches.")
    _relations(output["relationships"][:10])
    lost(output["degraded"])


def tree(shown: Tree) -> None:
    """A tree."""
    _console.print(shown)


def show(shown: RenderableType) -> None:
    """Anything that rich can draw; text is markup."""
    _console.print(shown)


def width() -> int:
    """Columns of the terminal."""
    return _console.width


def cost(spent: Mapping[str, Any]) -> str:
    """What a language model took, in words."""
    money = "price unknown" if spent["money"] is None else f"${spent['money']:.6f}"
    calls = f"{spent['calls']} calls of a language model"
    if spent.get("from_cache"):
        calls += f" and {spent['from_cache']} from the cache"
    return f"{calls}, {spent['input_tokens']} + {spent['output_tokens']} tokens, {money}"


def check_table(rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Checks as a table: (state, what, found, advice); state is ok, warn or fail."""
    marks = {"ok": "[green]✓[/green]", "warn": "[yellow]![/yellow]", "fail": "[red]✗[/red]"}
    table = Table(box=None, pad_edge=False, show_header=False)
    for state, what, found, advice in rows:
        said = escape(found) + (f"\n[yellow]{escape(advice)}[/yellow]" if advice else "")
        table.add_row(marks[state], f"[bold]{escape(what)}[/bold]", said)
    _console.print(table)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A plain table; all but the first column are numbers."""
    grid = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        grid.add_column(column, justify="left" if place == 0 else "right")
    for row in rows:
        grid.add_row(*map(escape, row))
    _console.print(grid)


def _relations(edges: Sequence[Mapping[str, Any]]) -> None:
    if edges:
        lines = [escape(f"{e['source']} —{e['type']}→ {e['target']}") for e in edges]
        _console.print(Group("[bold]How they connect[/bold]", *[f"   {line}" for line in lines]))


def lost(degraded: Sequence[Mapping[str, Any]]) -> None:
    """What a run went without."""
    for entry in degraded:
        _console.print(
            f"[yellow]degraded[/yellow] {entry['stage']}: {escape(entry['reason'])} "
            f"{escape(entry['effect'])}."
        )
