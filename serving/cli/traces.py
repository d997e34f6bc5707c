"""A run on the terminal or in a pipe, one step after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.tree import Tree

from . import render
from .summary import came_in, summarise

if TYPE_CHECKING:
    from .running import Seen

__all__ = ["Lines", "Rows", "Trace", "Twigs"]

WIDE = 120
"""Columns from which on what came in has a column of its own."""


class Trace:
    """What is known of a run so far: its steps, and the latest state."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    @property
    def state(self) -> Mapping[str, Any]:
        """The latest state; empty before the first step."""
        return self.seen[-1].after if self.seen else {}

    def step(self, seen: Seen) -> None:
        """Take in one step."""
        self.seen.append(seen)

    def finish(self) -> None:
        """Tell how it ended."""

    def note(self, text: str) -> None:
        """A line about the run, for people."""
        render.note(text)

    def _print_end(self) -> None:
        """The context, what was missing, and what the run cost."""
        if not self.state.get("diagnostics"):
            return
        render.show("")
        render.show(Panel(escape(self.state["context"]), title="context", border_style="dim"))
        render.lost(self.state["degraded"])
        cost = (
            f"; {render.cost(self.state['diagnostics']['ledger'])}" if self.state["calls"] else ""
        )
        render.show(f"[dim]{sum(seen.ms for seen in self.seen):.0f} ms in steps{cost}[/dim]")


class Rows(Trace):
    """A table, a row as soon as a step has ended."""

    def step(self, seen: Seen) -> None:
        """Print one step."""
        super().step(seen)
        wide = render.width() >= WIDE
        if len(self.seen) == 1:
            render.show(_grid(wide, "step", "ms", "ms left", "in", "out" * wide, style="dim"))
        said = "\n".join([*map(escape, summarise(seen.node, seen.update, seen.after))])
        edges = "\n".join(f"[green]{_edge(edge)}[/green]" for edge in seen.edges)
        out = "\n".join(part for part in (said, edges) if part)
        node, read = f"[bold]{seen.node}[/bold]", f"[dim]{escape(_read(seen))}[/dim]"
        render.show(_grid(wide, node, f"{seen.ms:,.1f}", f"{seen.left_ms:,.0f}", read, out))

    def finish(self) -> None:
        """Print the context, what was missing, and what the run cost."""
        self._print_end()


class Twigs(Trace):
    """A tree, once the run has ended; steps that ran side by side share a branch."""

    def finish(self) -> None:
        """Print the tree, then as `Rows` does."""
        if not self.seen:
            return
        tree = Tree("[bold]run[/bold]")
        for seen in self.seen:
            together = [one for one in self.seen if one.superstep == seen.superstep]
            if len(together) == 1:
                _twig(tree, seen)
            elif seen is together[0]:
                branch = tree.add("[dim]side by side[/dim]")
                for one in together:
                    _twig(branch, one)
        render.tree(tree)
        self._print_end()


class Lines(Trace):
    """A JSON object a line: superstep, node, ms, left_ms, in, out, wrote, degraded, edges."""

    def step(self, seen: Seen) -> None:
        """Print one step."""
        super().step(seen)
        stages = seen.after["degraded"]
        before = seen.before.get("degraded", [])
        fresh = stages if seen.node == "admit" else stages[len(before) :]
        line = {
            "superstep": seen.superstep,
            "node": seen.node,
            "ms": seen.ms,
            "left_ms": seen.left_ms,
            "in": _read(seen),
            "out": summarise(seen.node, seen.update, seen.after),
            "wrote": sorted(set(seen.update) - {"steps", "degraded"}),
            "degraded": [entry for entry in fresh if entry["stage"] == seen.node],
            "edges": [edge._asdict() for edge in seen.edges],
        }
        render.plain(json.dumps(line, ensure_ascii=False))

    def note(self, text: str) -> None:
        """A line about the run, for people, where it does not disturb programs."""
        render.aside(text)


def _read(seen: Seen) -> str:
    return came_in(seen.node, seen.before)


def _edge(edge: Any) -> str:
    return escape(f"↳ {edge.reason} → {edge.to}")


def _twig(branch: Tree, seen: Seen) -> None:
    head = f"[bold]{seen.node}[/bold]  [dim]{seen.ms:,.1f} ms, {seen.left_ms:,.0f} ms left[/dim]"
    twig = branch.add(head)
    twig.add(f"[dim]in: {escape(_read(seen))}[/dim]")
    for line in summarise(seen.node, seen.update, seen.after):
        twig.add(escape(line))
    for edge in seen.edges:
        twig.add(f"[green]{_edge(edge)}[/green]")


def _grid(
    wide: bool, node: str, ms: str, left: str, read: str, out: str, *, style: str = ""
) -> RenderableType:
    """A row: the table is drawn row by row, so its columns have widths of their own."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=22, no_wrap=True)
    table.add_column(width=8, justify="right", no_wrap=True)
    table.add_column(width=7, justify="right", no_wrap=True)
    if wide:
        table.add_column(width=32)
        table.add_column()
        table.add_row(node, ms, left, read, out, style=style)
    else:
        table.add_column()
        table.add_row(node, ms, left, "\n".join(part for part in (read, out) if part), style=style)
    return table
