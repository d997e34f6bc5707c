"""A thousand questions, sixteen at a time, while the graph database freezes and comes back."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest
from pydantic import SecretStr

from clew.context import RetrievalContext
from clew.graph import retrieval
from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.stores.breaker import Breaker
from clew.stores.protocols import GraphStore
from clew.tests.bolt_server import BoltServer, Target, random_prefix
from clew.tests.graph.scene import giving, world

SECONDS = float(os.environ.get("CLEW_TEST_BREAKER_SECONDS", "2"))
"""How long the circuit stays open: short here, and as in production where the variable says 30."""
QUESTIONS, IN_FLIGHT, OUTAGES = 1000, 16, 3
HEALTHY = 2.0
"""Seconds before each outage in which everything is whole."""
FROZEN = SECONDS + 2.5
"""Seconds of an outage: the circuit opens, and is tried once in vain."""
CORPUS = sorted((Path(__file__).parents[2] / "demo" / "corpus").glob("*.md"))[:60]
ABOUT = 20
CONTEXT = RetrievalContext(
    graph_ms=600, search_ms=1000, graph_entity_limit=50, entity_passages=20, top_k=5
)
"""Sixteen questions share one core, so that each step takes longer than for one; the budget is the
usual one."""


@dataclass(frozen=True)
class Answer:
    """One question's answer: when it was asked, how long it took, and what it went without."""

    question: str
    begun: float
    ms: float
    found: list[str]
    lost: list[str]
    mode: str

    @property
    def whole(self) -> bool:
        return self.mode == "hybrid" and not self.lost


class Watched:
    """The graph, and how often it is asked while its circuit is half-open."""

    def __init__(self, graph: GraphStore, breaker: Breaker) -> None:
        self._graph, self._breaker = graph, breaker
        self.trials = 0
        self.under_way = 0
        self.most_at_once = 0

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **how: self._ask(getattr(self._graph, name), args, how)

    async def _ask(self, method: Any, args: tuple[Any, ...], how: dict[str, Any]) -> Any:
        if self._breaker.state != "half_open":
            return await method(*args, **how)
        self.trials += 1
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            return await method(*args, **how)
        finally:
            self.under_way -= 1


@dataclass
class Traffic:
    """Questions without a pause, at least `QUESTIONS`, and until it is over."""

    services: Services
    questions: list[str]
    answers: list[Answer] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._graph = retrieval.build(giving(self.services)).compile()
        self._next = itertools.cycle(self.questions)

    async def ask(self, question: str) -> Answer:
        begun = time.monotonic()
        output = await self._graph.ainvoke({"question": question}, context=CONTEXT)
        return Answer(
            question,
            begun,
            1000 * (time.monotonic() - begun),
            [document.id for document in output["documents"]],
            [entry["stage"] for entry in output["degraded"]],
            output["diagnostics"]["plan"]["mode"],
        )

    async def flow(self) -> None:
        while not self.over.is_set() or len(self.answers) < QUESTIONS:
            self.answers.append(await self.ask(next(self._next)))


@pytest.fixture(scope="module")
async def services(
    target: Target, template: str, embedder: SentenceEmbedder
) -> AsyncIterator[Services]:
    documents = [{"id": path.name, "text": path.read_text("utf-8")} for path in CORPUS]
    async with world(
        template,
        documents,
        breaker_seconds=SECONDS,
        graph_store="neo4j",
        neo4j_uri=target.uri,
        neo4j_user=target.auth[0],
        neo4j_password=SecretStr(target.auth[1]),
        neo4j_database=target.database,
        graph_label_prefix=random_prefix(),
    ) as opened:
        watched: Any = Watched(opened.graph, opened.graph_breaker)
        yield replace(opened, graph=watched)


@pytest.mark.timeout(600)
async def test_none_fails_none_is_late_and_all_is_whole_again_soon_after(
    services: Services, target: Target
) -> None:
    """And while the circuit is half-open, exactly one call is let through."""
    titles = [path.stem.replace("-", " ").title() for path in CORPUS[:ABOUT]]
    traffic = Traffic(services, [f"Who or what is {title}?" for title in titles])
    before = {question: await traffic.ask(question) for question in traffic.questions}
    assert not [answer for answer in before.values() if answer.lost]
    # So many connections take a moment to open.
    await asyncio.gather(*(traffic.ask(question) for question in traffic.questions))
    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(traffic.flow())
        outages = [await outage(target.ours) for _ in range(OUTAGES)]
        traffic.over.set()
    report(traffic.answers, outages)
    assert max(answer.ms for answer in traffic.answers) <= 1.1 * CONTEXT.budget_ms
    assert all(answer.found for answer in traffic.answers)
    for answer in traffic.answers:
        if phase(answer, outages) == "whole":
            assert answer.whole, answer
            assert answer.found == before[answer.question].found
    assert Counter(phase(answer, outages) for answer in traffic.answers)["whole"] > IN_FLIGHT
    breaker, watched = services.graph_breaker, services.graph
    assert isinstance(watched, Watched)
    assert breaker.changes["closed"] == OUTAGES
    assert watched.most_at_once == 1
    assert watched.trials == breaker.changes["half_open"] == breaker.changes["open"]
    assert breaker.changes["open"] >= 2 * OUTAGES, "in each outage one trial was in vain"


async def outage(server: BoltServer) -> tuple[float, float]:
    """Freeze the server for longer than the circuit stays open; returns when, and until when."""
    await asyncio.sleep(HEALTHY)
    begun = time.monotonic()
    server.pause()
    try:
        await asyncio.sleep(FROZEN)
    finally:
        server.resume()
    ended = time.monotonic()
    await asyncio.sleep(SECONDS + 1)
    return begun, ended


def phase(answer: Answer, outages: list[tuple[float, float]]) -> str:
    """Where its time fell: during an outage, in the time to recover, or when all must be whole."""
    ended = answer.begun + answer.ms / 1000
    for begun, over in outages:
        if ended >= begun and answer.begun < over:
            return "frozen"
        if over <= answer.begun < over + SECONDS + 1:
            return "recovering"
    return "whole"


def report(answers: list[Answer], outages: list[tuple[float, float]]) -> None:
    """What was measured, shown by `pytest -s`."""
    lines = []
    for name in ("whole", "frozen", "recovering"):
        chosen = [answer for answer in answers if phase(answer, outages) == name]
        times = [answer.ms for answer in chosen]
        cuts = quantiles(times, n=20)
        lost = Counter(stage for answer in chosen for stage in answer.lost)
        lines.append(
            f"{name:>10}: {len(times):5} questions, p50 {cuts[9]:.0f} ms, p95 {cuts[18]:.0f} ms, "
            f"max {max(times):.0f} ms; went without {dict(lost) or 'nothing'}"
        )
    for _, over in outages:
        late = [
            a.begun - over for a in answers if 0 <= a.begun - over < SECONDS + 1 and not a.whole
        ]
        lines.append(f"{'thawed':>10}: all whole after {max(late, default=0.0):.1f} s")
    print("", *lines, sep="\n")  # noqa: T201
