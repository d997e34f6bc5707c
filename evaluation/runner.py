"""Asks every question of every variant, one after another, and keeps what came back."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..context import RetrievalContext
from ..graph.retrieval import Retrieval, graph
from ..models.embeddings import Embedder
from .cited import cited
from .datasets import GoldQuestion
from .measures import DEPTH, PRECISION, precision, quality
from .report import Answer, Variant

__all__ = ["Clew", "Outcome", "System", "ask"]

WARM_UP = 3
"""Questions each variant is asked before times count."""
WANTED = ["context", "documents", "degraded", "diagnostics", "steps"]
"""`steps` is no part of the answer, but the only place where the time of the last one stands."""


@dataclass(frozen=True)
class Outcome:
    """What a system gave: distinct document ids, the best first, and milliseconds a stage.

    `cited`: the document of each passage in the context; `None` from a system that makes none.
    """

    ranked: list[str]
    ms: dict[str, float]
    cited: list[str] | None = None
    context_tokens: int | None = None
    degraded: list[str] = field(default_factory=list)


class System(Protocol):
    """Whatever answers questions with documents."""

    @property
    def name(self) -> str:
        """What its column is called."""
        ...

    @property
    def settings(self) -> dict[str, Any] | None:
        """Its whole `RetrievalContext`; `None` for another system."""
        ...

    async def answer(self, question: str) -> Outcome:
        """The documents found for a question."""
        ...


@dataclass(frozen=True)
class Clew:
    """The retrieval graph on one namespace with one configuration."""

    name: str
    context: RetrievalContext
    namespace: str
    embedder: Embedder
    graph: Retrieval = graph

    @property
    def settings(self) -> dict[str, Any]:
        """The whole context."""
        return self.context.model_dump(mode="json")

    async def answer(self, question: str) -> Outcome:
        """Embed the question, then run the graph, which finds the vector in the encoder's memory.

        The encoder is timed on its own, so that `retrieval` is everything beside it.
        """
        begun = time.perf_counter()
        await self.embedder.embed([question])
        encoder = (time.perf_counter() - begun) * 1000
        await self.embedder.embed_question(question)
        begun = time.perf_counter()
        output = await self.graph.ainvoke(
            {"question": question, "namespaces": [self.namespace]},
            context=self.context,
            output_keys=WANTED,
        )
        retrieval = (time.perf_counter() - begun) * 1000
        documents = [document.metadata["document_id"] for document in output["documents"]]
        steps: dict[str, float] = defaultdict(float)
        for step in output["steps"]:
            steps[step["node"]] += step["ms"]
        return Outcome(
            ranked=list(dict.fromkeys(documents)),
            ms={
                "whole run": encoder + retrieval,
                "retrieval": retrieval,
                "encoder": encoder,
                **steps,
            },
            cited=cited(output),
            context_tokens=output["diagnostics"]["context_tokens"],
            degraded=[f"{lost['stage']}: {lost['reason']}" for lost in output["degraded"]],
        )


async def ask(
    questions: Sequence[GoldQuestion],
    systems: Sequence[System],
    progress: Callable[[str, int], None],
) -> list[Variant]:
    """Every system's answers with their measures, in the order of `questions`.

    One run at a time. Each question goes to all systems before the next does, a different one
    first each time, so that what the machine does meanwhile and what a first asking warms falls
    on all alike. A run that raises counts as 0 and says why; a system that answers none of the
    questions it is warmed up with ends the evaluation with its error.
    """
    for system in systems:
        await _warm_up(system, questions[:WARM_UP])
    outcomes: dict[str, list[Outcome | str]] = {system.name: [] for system in systems}
    for done, asked in enumerate(questions):
        first = done % len(systems)
        for system in (*systems[first:], *systems[:first]):
            outcome = await _attempt(system, asked.question)
            outcomes[system.name].append(
                outcome if isinstance(outcome, Outcome) else _said(outcome)
            )
            progress(system.name, done + 1)
    return [_measured(system, questions, outcomes[system.name]) for system in systems]


async def _warm_up(system: System, questions: Sequence[GoldQuestion]) -> None:
    outcomes = [await _attempt(system, asked.question) for asked in questions]
    failures = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    if len(failures) == len(questions):
        raise failures[0]


async def _attempt(system: System, question: str) -> Outcome | Exception:
    try:
        return await system.answer(question)
    except Exception as error:  # noqa: BLE001  # it stands in the report and counts as 0
        return error


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _measured(
    system: System, questions: Sequence[GoldQuestion], outcomes: Sequence[Outcome | str]
) -> Variant:
    kept = [outcome if isinstance(outcome, Outcome) else Outcome([], {}) for outcome in outcomes]
    measures = quality(
        {asked.id: asked.gold for asked in questions},
        {asked.id: one.ranked for asked, one in zip(questions, kept, strict=True)},
    )
    if system.settings is not None:
        for asked, one in zip(questions, kept, strict=True):
            measures[asked.id][PRECISION] = precision(one.cited or [], asked.gold)
    return Variant(
        name=system.name,
        settings=system.settings,
        answers=[
            Answer(
                id=asked.id,
                ranked=one.ranked[:DEPTH],
                cited=one.cited,
                measures=measures[asked.id],
                ms={stage: round(spent, 3) for stage, spent in one.ms.items()},
                context_tokens=one.context_tokens,
                degraded=one.degraded,
                failed=None if isinstance(outcome, Outcome) else outcome,
            )
            for asked, one, outcome in zip(questions, kept, outcomes, strict=True)
        ],
    )
