"""What an operator learns of a run: spans and metrics of its steps, and at its end one record.

The run's span begins with its first step and ends when the last one has told its result, or when
one step ends the run. One that is never finished (someone stepped through and left) ends when
`MOST` others have begun since.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langgraph.types import Overwrite
from opentelemetry.context import Context
from opentelemetry.trace import Span, set_span_in_context
from pydantic import ValidationError

from .. import metrics
from ..settings import Settings
from ..stores.errors import InvalidInput
from ..telemetry.logs import log_run
from ..telemetry.spans import begin, fail, span

__all__ = ["watched"]

MOST = 1000
"""Runs that may be open at once in a process."""

Told = Callable[[Any, Mapping[str, Any]], None]
"""To be called with the state before the step and its update."""


@dataclass(frozen=True)
class _Run:
    """A run from its first step on, in however many calls of the graph."""

    id: str
    graph: str
    span: Span
    context: Context
    begun: float = field(default_factory=time.monotonic)


class _Open:
    """The runs that have not ended, the oldest first; of all event loops of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    def of(self, id_: str, graph: str) -> _Run:
        """The run of that id, begun if this is its first step."""
        with self._lock:
            run = self._runs.get(id_)
            if run is None:
                run = self._runs[id_] = _begun(id_, graph)
                if len(self._runs) > MOST:
                    self._runs.popitem(last=False)[1].span.end()
            return run

    def take(self, run: _Run) -> bool:
        """Whether it was still open; of two steps that fail together only one ends the run."""
        with self._lock:
            return self._runs.pop(run.id, None) is not None


_open = _Open()


@contextmanager
def watched(step: str, graph: str, id_: str, settings: Settings) -> Iterator[Told]:
    """Around one step of the run of that id through the graph, `retrieval` or `ingestion`."""
    run = _open.of(id_, graph)
    begun = time.monotonic()
    last: list[Mapping[str, Any]] = []
    try:
        with span(f"{graph}.{step}", {"clew.step": step}, parent=run.context) as current:

            def told(state: Any, update: Mapping[str, Any]) -> None:
                lost = [entry["stage"] for entry in _added(update, "degraded")]
                if lost:
                    current.set_attribute("clew.degraded", lost)
                if graph == "ingestion":
                    _count(step, state, update)
                if update.get("diagnostics") or update.get("report"):
                    all_lost = [*state.get("degraded", []), *_added(update, "degraded")]
                    last.append({**state, **update, "degraded": all_lost})

            yield told
    except BaseException as error:
        if _open.take(run):
            fail(run.span, error)
            _end(run, _outcome(error), {"error": type(error).__name__}, [])
        raise
    finally:
        metrics.STEP_SECONDS.labels(graph, step).observe(time.monotonic() - begun)
    for state in last:
        if _open.take(run):
            _finish(run, state, settings)


def _begun(id_: str, graph: str) -> _Run:
    attributes = {"clew.run": id_}
    if graph == "retrieval":
        attributes["gen_ai.operation.name"] = "retrieval"
    opened = begin(graph, attributes)
    return _Run(id_, graph, opened, set_span_in_context(opened))


def _finish(run: _Run, state: Mapping[str, Any], settings: Settings) -> None:
    lost = list(dict.fromkeys(entry["stage"] for entry in state["degraded"]))
    facts = _of_answer(state) if run.graph == "retrieval" else _of_report(state["report"])
    if run.graph == "retrieval":
        for source, count in Counter(_source(ranked) for ranked in _returned(state)).items():
            metrics.RESULTS.labels(source).inc(count)
        if settings.otel_content:
            facts["question"] = state["request"]["question"]
            _tell_content(run.span, state)
    _end(run, "degraded" if lost else "complete", facts, lost)


def _end(run: _Run, outcome: str, facts: Mapping[str, Any], lost: list[str]) -> None:
    """Tell everyone who listens, each the same."""
    seconds = time.monotonic() - run.begun
    metrics.RUNS.labels(run.graph, outcome).inc()
    metrics.RUN_SECONDS.labels(run.graph).observe(seconds)
    for stage in lost:
        metrics.DEGRADED.labels(run.graph, stage).inc()
    for name, fact in {"outcome": outcome, **facts, "degraded": lost}.items():
        if fact is not None and name != "question":
            run.span.set_attribute(f"clew.{name}", fact)
    run.span.end()
    log_run(
        {
            "run": run.id,
            "graph": run.graph,
            "outcome": outcome,
            "ms": round(1000 * seconds, 1),
            **facts,
            "degraded": lost,
        }
    )


def _of_answer(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a retrieval did, in numbers and in words of Clew's own."""
    told = state["diagnostics"]
    ledger = told["ledger"]
    return {
        "plan": told["plan"]["mode"],
        "intent": told["intent"],
        "persona": told["traversal"]["persona"],
        **told["counts"],
        "passages": len(state["documents"]),
        "context_tokens": told["context_tokens"],
        **{name: ledger[name] for name in ("calls", "input_tokens", "output_tokens", "money")},
    }


def _of_report(report: Mapping[str, Any]) -> dict[str, Any]:
    names = ("written", "replaced", "unchanged", "skipped_count", "chunks")
    return {name.removesuffix("_count"): report[name] for name in names}


def _tell_content(current: Span, state: Mapping[str, Any]) -> None:
    """By OpenTelemetry's conventions for retrieval spans; only when somebody opted in."""
    found = [
        {"id": one.id, "score": one.metadata["score"], "content": one.page_content}
        for one in state["documents"]
    ]
    current.set_attribute("gen_ai.retrieval.query.text", state["request"]["question"])
    current.set_attribute("gen_ai.retrieval.documents", json.dumps(found, ensure_ascii=False))


def _returned(state: Mapping[str, Any]) -> list[Any]:
    ranked: list[Any] = state["ranked"]
    return ranked[: len(state["documents"])]


def _source(ranked: Mapping[str, Any]) -> str:
    signals = ranked["signals"]
    searched = signals["dense_rank"] is not None or signals["bm25_rank"] is not None
    walked = signals["graph_rank"] is not None
    return "both" if searched and walked else "graph" if walked else "search"


def _count(step: str, state: Any, update: Mapping[str, Any]) -> None:
    """What one step of ingestion adds, since a run of it may take hours."""
    for outcome in ("written", "replaced", "unchanged", "skipped"):
        metrics.DOCUMENTS.labels(outcome).inc(len(_added(update, outcome)))
    metrics.CHUNKS.inc(sum(batch["chunks"] for batch in _added(update, "encoded")))
    if step == "write":
        landed = {*_added(update, "written"), *_added(update, "replaced")}
        drafts = [draft for draft in state["ready"] if draft["key"] in landed]
        types = Counter(entity["type"] for draft in drafts for entity in draft["entities"])
        for type_, count in types.items():
            metrics.ENTITIES.labels(type_).inc(count)


def _added(update: Mapping[str, Any], channel: str) -> list[Any]:
    value = update.get(channel, [])
    added: list[Any] = value.value if isinstance(value, Overwrite) else value
    return added


def _outcome(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "cancelled"
    return "refused" if isinstance(error, InvalidInput | ValidationError) else "failed"
