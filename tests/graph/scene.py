"""A small world to ask questions in, ways to break it, and a watch over which steps ran."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from clew.context import RetrievalContext
from clew.graph import ingestion, retrieval
from clew.models.reranker import Reranker
from clew.services import Services, open_services
from clew.settings import Settings
from clew.stores.breaker import Breaker
from clew.stores.errors import StoreUnavailable

WORLD = [
    {
        "id": "mansfield.md",
        "title": "Katherine Mansfield",
        "text": (
            "Katherine Mansfield was a writer born in Wellington. She married "
            "John Middleton Murry. Katherine Mansfield met Virginia Woolf in London. "
            "Katherine Mansfield wrote Prelude for the Hogarth Press."
        ),
    },
    {
        "id": "murry.md",
        "title": "John Middleton Murry",
        "text": (
            "John Middleton Murry was born in Peckham. John Middleton Murry edited "
            "the Athenaeum and wrote about Fyodor Dostoevsky."
        ),
    },
    {
        "id": "woolf.md",
        "title": "Virginia Woolf",
        "text": "Virginia Woolf founded the Hogarth Press with Leonard Woolf in Richmond.",
    },
    {
        "id": "kathleen.md",
        "title": "Kathleen Mansfield",
        "text": "Kathleen Mansfield is the name under which she was entered at school.",
    },
    {
        "id": "quibble.md",
        "title": "Zorblax Quibble",
        "text": "Zorblax Quibble was a clown who toured with Leonard Woolf.",
    },
]
"""Five pages with names; `NAMELESS` has none."""

NAMELESS = [{"id": "weather", "text": "rain falls on the plain and the wind blows over the grass."}]

Fault = Callable[..., Awaitable[Any]]


def fails(error: BaseException, *, after: int = 0) -> Fault:
    """Raise instead of answering, once it was asked `after` times in vain for a failure."""
    asked = 0

    async def fault(answer: Fault, *args: Any, **kwargs: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked > after:
            raise error
        return await answer(*args, **kwargs)

    return fault


def sleeps(seconds: float) -> Fault:
    """Answer, but late."""

    async def fault(answer: Fault, *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(seconds)
        return await answer(*args, **kwargs)

    return fault


def gone() -> StoreUnavailable:
    return StoreUnavailable("Nobody answers.")


class Faulty:
    """A store whose named methods go through a fault; the others are the real ones."""

    def __init__(self, store: Any, **faults: Fault) -> None:
        self._store = store
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        fault = self._faults.get(name)
        if fault is None:
            return method
        return lambda *args, **kwargs: fault(method, *args, **kwargs)


class StandInReranker(Reranker):
    """Prefers long texts, or raises."""

    def __init__(self, error: Exception | None = None) -> None:
        self.name, self._error = "stand-in", error
        self.breaker = breaker("reranker")

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        if self._error:
            raise self._error
        return [float(len(text)) for text in texts]


def breaker(name: str = "graph database", *, is_open: bool = False) -> Breaker:
    made = Breaker(name, failures=(StoreUnavailable, TimeoutError))
    if is_open:
        made._opened = made._clock()
    return made


@asynccontextmanager
async def world(
    template: str, documents: Sequence[dict[str, Any]] = WORLD, **settings: Any
) -> AsyncIterator[Services]:
    """Services on a fresh database that outlives a single test, with documents taken in."""
    name = f"clew_world_{secrets.token_hex(4)}"
    names = {"name": sql.Identifier(name), "template": sql.Identifier("clew_template")}
    async with await psycopg.AsyncConnection.connect(template, autocommit=True) as connection:
        await connection.execute(
            sql.SQL("create database {name} template {template}").format(**names)
        )
    dsn = make_conninfo("", **{**conninfo_to_dict(template), "dbname": name})
    services = await open_services(Settings(database_url=dsn, **settings))
    try:
        await ingest(services, documents)
        await ingest(services, NAMELESS, namespace="nameless")
        yield services
    finally:
        await services.close()
        async with await psycopg.AsyncConnection.connect(template, autocommit=True) as connection:
            await connection.execute(
                sql.SQL("drop database {name} with (force)").format(name=names["name"])
            )


def patient(**fields: Any) -> RetrievalContext:
    """Settings under which a busy machine degrades nothing, and every run asks for itself."""
    times = dict.fromkeys(("budget_ms", "llm_ms", "graph_ms", "search_ms"), 60_000)
    return RetrievalContext(**{**times, "caches": False, **fields})


def giving(services: Services) -> Callable[[], Awaitable[Services]]:
    async def given() -> Services:
        return services

    return given


async def ingest(
    services: Services, documents: Sequence[dict[str, Any]], **asked: Any
) -> dict[str, Any]:
    """Take documents in through the ingestion graph; returns its report."""
    graph = ingestion.build(giving(services)).compile()
    output = await graph.ainvoke({"documents": list(documents), **asked})
    report: dict[str, Any] = output["report"]
    return report


async def ask(
    services: Services,
    question: str,
    context: RetrievalContext | None = None,
    config: dict[str, Any] | None = None,
    **asked: Any,
) -> dict[str, Any]:
    """The whole state after one question, on a thread of its own."""
    graph = retrieval.build(giving(services)).compile()
    states = [
        state
        async for state in graph.astream(
            {"question": question, **asked},
            config=config,  # type: ignore[arg-type]  # a plain dictionary is one
            context=context or patient(),
            stream_mode="values",
            output_keys=list(graph.channels),
        )
    ]
    found: dict[str, Any] = states[-1]
    return found


def with_faults(services: Services, **faults: dict[str, Fault]) -> Services:
    """The same services with faults in the stores named, and a graph breaker of their own."""
    stores: dict[str, Any] = {
        name: Faulty(getattr(services, name), **broken) for name, broken in faults.items()
    }
    return replace(services, **{"graph_breaker": breaker(), **stores})
