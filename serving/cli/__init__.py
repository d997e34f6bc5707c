"""`clew`: every command imports what it needs when it runs, so that help answers at once."""

from __future__ import annotations

import sys

import typer

from . import (
    ask,
    backfill,
    bench,
    demo,
    diagram,
    discover,
    doctor,
    evaluate,
    ingest,
    maintain,
    mcp,
    path,
    review,
    trace,
)

__all__ = ["app", "main"]

app = typer.Typer(
    name="clew",
    help="Passages that answer a question, a map of how their entities connect, and the thread "
    "that led to each.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("demo")(demo.demo)
app.command("ingest")(ingest.ingest)
app.command("backfill")(backfill.backfill)
app.command("review")(review.review)
app.command("ask")(ask.ask)
app.command("discover")(discover.discover)
app.command("trace")(trace.trace)
app.command("path")(path.path)
app.command("mcp")(mcp.mcp)
app.command("doctor")(doctor.doctor)
app.command("graph")(diagram.graph)
app.add_typer(evaluate.app, name="eval")
app.command("bench-stores")(bench.bench_stores)
app.command("migrate")(maintain.migrate)
app.command("delete")(maintain.delete)
app.command("sync")(maintain.sync)

FAULT, MISTAKE = 1, 2
"""Exit codes: something is down or misconfigured; what was asked for cannot be done."""


def main() -> None:
    """Run a command; what a person can mend is said in one sentence, bugs keep their traceback."""
    try:
        app()
    except KeyboardInterrupt:
        sys.stderr.write("clew: stopped\n")
        sys.exit(130)
    except Exception as error:
        said = _sentence(error)
        if said is None:
            raise
        sys.stderr.write(f"clew: {said[0]}\n")
        sys.exit(said[1])


def _sentence(error: Exception) -> tuple[str, int] | None:
    from pydantic import ValidationError

    from ...stores.errors import InvalidInput
    from ..sentences import MENDABLE, in_a_sentence

    if not isinstance(error, MENDABLE):
        return None
    mistaken = isinstance(error, InvalidInput | ValidationError)
    return in_a_sentence(error), MISTAKE if mistaken else FAULT
