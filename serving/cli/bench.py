"""`clew bench-stores`: how long the stores take on a synthetic collection of any size."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from .options import Json
from .pages import replace_between

__all__ = ["bench_stores"]

SMALLEST = 50_000
"""Below this, one hundredth is too little to draw queries from."""
SUFFIX = {"k": 1_000, "m": 1_000_000}


def bench_stores(
    sizes: Annotated[
        list[str],
        typer.Argument(metavar="SIZE...", help="Entities and chunks: 100k, 1m, or a number."),
    ],
    queries: Annotated[int, typer.Option(help="Queries of each kind.", min=20)] = 100,
    again: Annotated[bool, typer.Option(help="Build collections that are there anew.")] = False,
    into: Annotated[
        Path | None,
        typer.Option(help="Put the tables between this page's <!-- bench --> marks.", exists=True),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build a power-law graph with passages and time every kind of query on it.

    Each by four callers: one who reads everything, one of a namespace with 1% of it, and two who
    may read 10% and 1%; one query after another, then by eight clients at once. Collections stay,
    in databases named clew_bench_SIZE.
    """
    from ...evaluation.stores_bench.report import growth, markdown, run, slowdown
    from ...settings import load_settings
    from . import render
    from .running import run as run_command

    wanted = sorted({_number(size) for size in sizes})
    with render.progress("Preparing") as bar:
        stages = count(1)
        results = run_command(
            lambda: run(
                load_settings(), wanted, queries, again, lambda said: bar(next(stages), None, said)
            )
        )
    if into is not None:
        replace_between(into, "bench", markdown(results))
    if as_json:
        render.json_output({"results": results})
        return
    for place, result in enumerate(results):
        slower = slowdown(result["rows"])
        grown = growth(results[0], result) if place else {}
        render.table(
            f"{result['size']:,} entities and chunks; milliseconds of {queries} queries",
            [
                "query", "caller", "p50", "p95", "p99", "8 clients: p95", "a second", "rows",
                "× everything", "exact, p50", "overlap@20",
                *([f"× {results[0]['size']:,}"] if place else []),
            ],
            [
                [
                    row["query"],
                    row["caller"],
                    *(f"{row['ms'][p]:.1f}" for p in ("p50", "p95", "p99")),
                    f"{row['crowd_ms']['p95']:.1f}",
                    f"{row['crowd_ms']['per_second']:.0f}",
                    f"{row['rows']:.0f}",
                    f"{slower[row['query'], row['caller']]:.1f}",
                    _or_nothing(row["baseline_ms"], ".1f"),
                    _or_nothing(row["overlap"], ".2f"),
                    *([f"{grown[row['query'], row['caller']]:.1f}"] if place else []),
                ]
                for row in result["rows"]
            ],
        )  # fmt: skip
        render.table(
            "built in seconds",
            ["stage", "seconds"],
            [[stage, f"{seconds:.1f}"] for stage, seconds in result["seconds"].items()],
        )
        render.table(
            "megabytes on disk",
            ["table or index", "MB"],
            [[name, f"{size / 1e6:,.0f}"] for name, size in result["bytes"].items()],
        )


def _number(size: str) -> int:
    from ...stores.errors import InvalidInput

    digits, factor = size, 1
    if size[-1:].lower() in SUFFIX:
        digits, factor = size[:-1], SUFFIX[size[-1].lower()]
    if not digits.isdecimal() or int(digits) * factor < SMALLEST:
        raise InvalidInput(f"{size!r} is not a size; write 100k, 1m, or a number from {SMALLEST}.")
    return int(digits) * factor


def _or_nothing(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
