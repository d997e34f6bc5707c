"""The benchmark from end to end, and its figures side by side for several sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from typing_extensions import TypedDict

from ...services import database_server
from ...settings import Settings
from ...stores.postgres.database import Database
from .build import build, built
from .dataset import draw
from .measure import Row, index_sizes, measure

__all__ = ["Result", "growth", "markdown", "run", "slowdown"]


class Result(TypedDict):
    """What one size took. `seconds`: of building, empty when the collection was there already."""

    size: int
    seconds: dict[str, float]
    bytes: dict[str, int]
    rows: list[Row]


async def run(
    settings: Settings, sizes: list[int], queries: int, again: bool, step: Callable[[str], None]
) -> list[Result]:
    """Build what is missing (`again`: everything) and measure each size in turn."""
    results = []
    async with database_server(settings) as server:
        for size in sizes:
            say = partial(_say, step, size)
            say("looking for the collection")
            dsn, seconds = await built(server, size), dict[str, float]()
            if dsn is None or again:
                say("drawing the collection")
                dsn, seconds = await build(server, draw(size), say)
            database = Database(
                dsn,
                pool_size=settings.pool_size,
                pool_timeout=settings.pool_timeout,
                ef_search=settings.ef_search,
            )
            try:
                rows = await measure(database, size, queries, say)
                sizes_of = await index_sizes(database)
            finally:
                await database.close()
            results.append(Result(size=size, seconds=seconds, bytes=sizes_of, rows=rows))
    return results


def _say(step: Callable[[str], None], size: int, what: str) -> None:
    step(f"{size:,}: {what}")


def slowdown(rows: list[Row]) -> dict[tuple[str, str], float]:
    """How many times the median of who reads everything each caller waits, by query and caller."""
    free = {row["query"]: row["ms"]["p50"] for row in rows if row["caller"] == "everything"}
    return {(r["query"], r["caller"]): r["ms"]["p50"] / free[r["query"]] for r in rows}


def growth(smaller: Result, larger: Result) -> dict[tuple[str, str], float]:
    """How many times longer the larger collection's median is, by query and caller."""
    before: dict[Any, float] = {(r["query"], r["caller"]): r["ms"]["p50"] for r in smaller["rows"]}
    return {
        key: row["ms"]["p50"] / before[key]
        for row in larger["rows"]
        if (key := (row["query"], row["caller"])) in before
    }


def markdown(results: list[Result]) -> str:
    """A table a size: milliseconds a caller, and what the exact answer says and costs."""
    return "\n\n".join(map(_table, results))


def _table(result: Result) -> str:
    callers = list(dict.fromkeys(row["caller"] for row in result["rows"]))
    by_query: dict[str, dict[str, Row]] = {}
    for row in result["rows"]:
        by_query.setdefault(row["query"], {})[row["caller"]] = row
    lines = [
        f"{result['size']:,} entities and passages; p50 / p95 in ms:",
        "",
        f"| query | {' | '.join(callers)} | 8 clients: p95, a second | exact: p50 | overlap@20 |",
        "|---" * (len(callers) + 4) + "|",
    ]
    for query, rows in by_query.items():
        free = rows[callers[0]]
        exact, overlap = free["baseline_ms"], free["overlap"]
        cells = [
            *(f"{rows[who]['ms']['p50']:.1f} / {rows[who]['ms']['p95']:.1f}" for who in callers),
            f"{free['crowd_ms']['p95']:.0f}, {free['crowd_ms']['per_second']:.0f}",
            "" if exact is None else f"{exact:,.0f}",
            "" if overlap is None else f"{overlap:.2f}",
        ]
        lines.append(f"| {query} | {' | '.join(cells)} |")
    return "\n".join(lines)
