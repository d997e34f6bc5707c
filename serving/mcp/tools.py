"""The tools: what each is called, takes, does and gives."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic import BaseModel

from ...context import FOR_A_TEXT, RetrievalContext
from .answers import Answer, Connection, answer_of, connection_of, texts_of, thread_of
from .arguments import Connect, Discover, Retrieve

if TYPE_CHECKING:
    from ...graph.retrieval import Retrieval
    from ...state import RetrievalOutput

__all__ = ["TOOLS", "Defaults", "Report", "Said", "Tool"]

Report = Callable[[int, str], Awaitable[None]]
"""Tells a client that asked for it how many steps are done, and which was the last."""


class Said(NamedTuple):
    """Blocks of text, and the same for programs."""

    texts: list[str]
    answer: BaseModel


@dataclass(frozen=True)
class Defaults:
    """What holds where the arguments say nothing: settings of a run, and namespaces."""

    context: RetrievalContext = field(default_factory=RetrievalContext)
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tool:
    """A tool; `run` gets arguments that have passed `takes`."""

    name: str
    title: str
    description: str
    takes: type[BaseModel]
    gives: type[BaseModel]
    run: Callable[[Any, Defaults, Report], Awaitable[Said]]


async def retrieve(asked: Retrieve, defaults: Defaults, report: Report) -> Said:
    """The passages that answer a question."""
    given = {
        "question": asked.question,
        "history": asked.history,
        "filters": asked.filters,
        "namespaces": asked.namespaces or list(defaults.namespaces),
    }
    return _answered(await _ask(given, _settings(defaults.context, asked.top_k), report))


async def discover(asked: Discover, defaults: Defaults, report: Report) -> Said:
    """What is connected with a text, without the text itself."""
    given = {
        "passage": asked.passage,
        "document_id": asked.document_id,
        "namespaces": asked.namespaces or list(defaults.namespaces),
    }
    patient = {**FOR_A_TEXT, **defaults.context.model_dump(exclude_unset=True)}
    context = _settings(RetrievalContext.model_validate(patient), asked.top_k)
    return _answered(await _ask(given, context, report))


async def path(asked: Connect, defaults: Defaults, report: Report) -> Said:
    """How two entities are connected."""
    from ..connecting import connect

    await report(0, "opening the database")
    namespaces = asked.namespaces or list(defaults.namespaces)
    steps = await connect(asked.source, asked.target, namespaces=namespaces, hops=asked.hops)
    found = connection_of(steps)
    return Said([thread_of(found, asked.source, asked.target, asked.hops)], found)


async def _ask(given: Mapping[str, Any], context: RetrievalContext, report: Report) -> Any:
    """The graph's output, with a report as each step ends."""
    await report(0, "opening the database and the models")
    graph = await asyncio.to_thread(_graph)
    output: RetrievalOutput | None = None
    done = 0
    async for mode, payload in graph.astream(
        given, context=context, stream_mode=["updates", "values"]
    ):
        if mode == "values":
            output = cast("RetrievalOutput", payload)
            continue
        done += 1
        await report(done, ", ".join(payload).replace("_", " "))
    return output


def _graph() -> Retrieval:
    """Imported when it is first needed, and beside the event loop: it takes a second or two."""
    from ...graph.retrieval import graph

    return graph


def _settings(context: RetrievalContext, top_k: int | None) -> RetrievalContext:
    return context if top_k is None else context.model_copy(update={"top_k": top_k})


def _answered(output: RetrievalOutput) -> Said:
    answer = answer_of(output)
    return Said(texts_of(answer), answer)


TOOLS: Sequence[Tool] = (
    Tool(
        "retrieve",
        "Find the passages that answer a question",
        "Finds the passages that answer a question, including those two or three hops away that do "
        "not look like it, with a map of how their entities connect and the thread that led to "
        "each. Cite passages by their number.",
        Retrieve,
        Answer,
        retrieve,
    ),
    Tool(
        "discover",
        "Find what is connected with a text",
        "Finds passages of other documents that are connected with a text or a stored document, "
        "without the text itself, and the thread to each. Cite passages by their number.",
        Discover,
        Answer,
        discover,
    ),
    Tool(
        "path",
        "Show how two entities are connected",
        "Shows the shortest thread of relations between two entities, by their names.",
        Connect,
        Connection,
        path,
    ),
)
