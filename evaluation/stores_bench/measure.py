"""Ask, time, compare with the exact answer."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from ...stores.access import Access
from ...stores.postgres.database import Database
from ...stores.postgres.queries import halfvec
from ...stores.records import Mention
from ..measures import percentiles
from . import baselines
from .workload import CALLERS, HOPS, LIMIT, SEEDS, Ask, Workload, sample

__all__ = ["Row", "index_sizes", "measure"]

CLIENTS = 8
COMPARED = 20
"""Queries of a kind that are answered exactly as well; slower than all the others together."""
DEPTH = 20


class Row(TypedDict):
    """One kind of query by one caller; milliseconds, and rows that came back on average."""

    query: str
    caller: str
    ms: dict[str, float]
    crowd_ms: dict[str, float]
    """The same with `CLIENTS` asking at once; `per_second` of all of them together."""
    rows: float
    baseline_ms: float | None
    overlap: float | None
    """Share of the exact answer's best `DEPTH` that were found."""


async def measure(
    database: Database, size: int, queries: int, progress: Callable[[str], None]
) -> list[Row]:
    """Every kind of query by every caller, `queries` of each, one after another and at once."""
    rows = []
    for caller, access in CALLERS.items():
        load = Workload(database, access, await sample(database, access, size))
        for name, make in await _kinds(load):
            progress(f"{name}, {caller}")
            asked = [make() for _ in range(queries)]
            took, counted = await _one_by_one(asked)
            crowd = await _at_once(asked)
            overlap, exact_ms = await _compare(name, load, database, access)
            rows.append(
                Row(
                    query=name,
                    caller=caller,
                    ms=percentiles(took),
                    crowd_ms=crowd,
                    rows=counted,
                    baseline_ms=exact_ms,
                    overlap=overlap,
                )
            )
    return rows


async def _kinds(load: Workload) -> list[tuple[str, Callable[[], Ask]]]:
    walks = [
        (f"walk {hops} hop{'s' * (hops > 1)} from {kind}", _walking(load, kind, hops))
        for hops in HOPS
        for kind in SEEDS
    ]
    hoods = [await load.neighbourhood() for _ in range(20)]
    turn = iter(range(10**9))
    return [
        *walks,
        ("walk 3 hops, type weights", lambda: load.walk("mixed", 3, type_weights=WEIGHTS)),
        ("entity → chunk", lambda: load.passages(hoods[next(turn) % len(hoods)])),
        ("lookup exact", load.exact),
        ("lookup typo", load.typo),
        ("lookup full text", load.text),
        ("lookup by meaning", load.meaning),
        ("BM25", load.bm25),
        ("vector", load.vector),
        ("BM25 beside vector", lambda: _both(load)),
    ]


WEIGHTS = {"CO_OCCURS": 0.3, "WORKED_WITH": 1.0, "LINKS_TO": 0.0}


def _walking(load: Workload, kind: str, hops: int) -> Callable[[], Ask]:
    return lambda: load.walk(kind, hops)


def _both(load: Workload) -> Ask:
    bm25, vector = load.bm25(), load.vector()

    async def ask() -> list[Any]:
        found = await asyncio.gather(bm25(), vector())
        return [*found[0], *found[1]]

    return ask


async def _one_by_one(asked: Sequence[Ask]) -> tuple[list[float], float]:
    """Milliseconds of each, and rows on average; everything is asked once before, to be warm."""
    for ask in asked:
        await ask()
    took, counted = [], 0
    for ask in asked:
        begun = time.perf_counter()
        counted += len(await ask())
        took.append((time.perf_counter() - begun) * 1000)
    return took, counted / len(asked)


async def _at_once(asked: Sequence[Ask]) -> dict[str, float]:
    waiting, took = iter(asked), list[float]()

    async def client() -> None:
        for ask in waiting:
            begun = time.perf_counter()
            await ask()
            took.append((time.perf_counter() - begun) * 1000)

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return {**percentiles(took), "per_second": len(asked) / (time.perf_counter() - begun)}


async def _compare(
    name: str, load: Workload, database: Database, access: Access
) -> tuple[float | None, float | None]:
    """How much of the exact answer is found, and the exact answer's median in milliseconds."""
    if name in ("walk 3 hops from mixed", "walk 3 hops from hub"):
        seeds = load.seeds(name.rsplit(" ", 1)[1])
        walked = baselines.recursive_walk(database, seeds, 3, access)
        return None, (await _timed(walked))[1]
    overlaps, took = [], []
    for _ in range(COMPARED):
        if name == "entity → chunk":
            weights = await load.neighbourhood()
            found = _heaviest(await load.passages(weights)(), weights)
            exact = baselines.exact_passages(database, weights, LIMIT, access)
        elif name == "BM25":
            question = load.question()
            hits = await load.chunks.search_text(question, limit=100, filters={}, access=access)
            found = [hit["id"] for hit in hits]
            exact = baselines.exact_bm25(database, question, 100, access)
        elif name == "vector":
            vector = load.embedding()
            hits = await load.chunks.search_vector(vector, limit=100, filters={}, access=access)
            found = [hit["id"] for hit in hits]
            exact = baselines.exact_vector(database, halfvec(vector), DEPTH, access)
        else:
            return None, None
        right, ms = await _timed(exact)
        took.append(ms)
        best = (right or [])[:DEPTH]
        overlaps.append(len(set(best) & set(found[: len(best)])) / len(best) if best else 1.0)
    return sum(overlaps) / len(overlaps), percentiles(took)["p50"]


async def _timed(work: Awaitable[Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    return await work, (time.perf_counter() - begun) * 1000


def _heaviest(mentions: Iterable[Mention], weights: Mapping[int, float]) -> list[int]:
    total: dict[int, float] = defaultdict(float)
    for mention in mentions:
        total[mention["chunk"]] += weights[mention["entity"]]
    return sorted(total, key=lambda chunk: (-round(total[chunk], 9), chunk))


async def index_sizes(database: Database) -> dict[str, int]:
    """Bytes of each table and index of the collection, largest first."""
    rows = await database.fetch(
        "select relname as name, pg_relation_size(oid) as bytes from pg_class"
        " where relnamespace = 'clew'::regnamespace and relkind in ('r', 'i')"
        " and pg_relation_size(oid) > 1000000 order by bytes desc, name",
        {},
    )
    return {row["name"]: row["bytes"] for row in rows}
