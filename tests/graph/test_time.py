"""How long a run may take, and what becomes of work that is out of time."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from clew.context import RetrievalContext
from clew.graph import retrieval
from clew.graph.guarded import Deadline, GuardedGraph
from clew.graph.resilience import RESERVED_MS, OutOfTime, elapsed_ms, left_ms
from clew.models.embeddings import SentenceEmbedder
from clew.services import Services
from clew.state import StepTime
from clew.stores.access import Access
from clew.stores.errors import StoreTimeout, StoreUnavailable
from clew.stores.patience import within
from clew.stores.walk import Walk
from clew.tests.models.chat_server import QUESTION, chat_server, open_chat, understood
from clew.tests.timing import best_of_three

from .scene import Faulty, ask, breaker, fails, giving, gone, patient, sleeps, with_faults, world

NAMED = "Whom did Katherine Mansfield marry?"
SEEDS, ANYONE = {1: 1.0}, Access(("default",))


@pytest.fixture(scope="module")
async def services(template: str, embedder: SentenceEmbedder) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


def took(begun: float, ms: float, invocation: str = "one") -> StepTime:
    return StepTime(node="a", ms=ms, begun=begun, invocation=invocation, left_ms=0)


def test_the_clock_runs_within_an_invocation_and_stands_still_between_two() -> None:
    assert elapsed_ms([], "one", 100.0) == 0
    side_by_side = [took(10.0, 300), took(10.0, 200), took(10.4, 100)]
    assert elapsed_ms(side_by_side, "one", 10.6) == pytest.approx(600), "waiting counts"
    assert elapsed_ms(side_by_side, "two", 99.0) == pytest.approx(500), "looking does not"
    resumed = [*side_by_side, took(99.0, 50, "two")]
    assert elapsed_ms(resumed, "two", 99.25) == pytest.approx(750)


@pytest.mark.parametrize(
    ("budget", "optional", "left"),
    [(2000, True, 1700), (2000, False, 1900), (500, True, 300), (500, False, 400)],
)
def test_optional_steps_leave_time_for_the_context(budget: int, optional: bool, left: int) -> None:
    assert left_ms(RetrievalContext(budget_ms=budget), 100, optional=optional) == left


@best_of_three
async def test_work_that_will_not_be_cancelled_is_left_behind() -> None:
    ended = asyncio.Event()

    async def rude() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.5)
            ended.set()

    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        await within(0.05, rude())
    assert time.monotonic() - begun < 0.2
    await asyncio.wait_for(ended.wait(), 5)


async def test_what_is_in_time_answers_or_fails_as_it_is() -> None:
    async def answer() -> int:
        return 42

    async def fail() -> None:
        raise KeyError("a bug")

    assert await within(1, answer()) == 42
    with pytest.raises(KeyError, match="a bug"):
        await within(1, fail())


async def test_a_late_graph_counts_for_the_breaker_unless_the_run_was_in_a_hurry() -> None:
    slow: Any = Faulty(None)
    slow.__dict__["expand"] = lambda *_, **__: asyncio.sleep(60)
    watch = breaker()
    for hurried, error in ((True, OutOfTime), (False, TimeoutError)):
        graph = GuardedGraph(slow, watch, Deadline(time.monotonic() + 0.02, hurried))
        with pytest.raises(error):
            await graph.expand(SEEDS, walk=Walk(), access=ANYONE)
        assert watch._count == (0 if hurried else 1)


async def test_an_open_circuit_asks_nobody(services: Services) -> None:
    shut = breaker(is_open=True)
    asked = Faulty(services.graph, expand=fails(AssertionError("asked")))
    graph = GuardedGraph(asked, shut, Deadline(time.monotonic() + 5, False))
    with pytest.raises(StoreUnavailable, match="circuit of the graph database is open"):
        await graph.expand(SEEDS, walk=Walk(), access=ANYONE)


@pytest.mark.parametrize("method", ["score", "fetch"])
@best_of_three
async def test_a_frozen_record_ends_the_run_within_its_budget(
    services: Services, method: str
) -> None:
    async def frozen(*_: Any, **__: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(1)  # as a driver that asks the server to cancel

    await ask(services, NAMED)
    stuck = with_faults(services, chunks={method: frozen})
    begun = time.monotonic()
    with pytest.raises(StoreTimeout, match=r"600 ms were over before (merge|filter)"):
        await ask(stuck, NAMED, patient(budget_ms=600))
    assert time.monotonic() - begun < 0.66


async def test_the_clock_stops_while_someone_steps_through(services: Services) -> None:
    graph = retrieval.build(giving(services)).compile(
        checkpointer=InMemorySaver(), interrupt_after="*"
    )
    thread: Any = {"configurable": {"thread_id": "steps"}}
    context = patient(budget_ms=1500)
    asked: Any = {"question": NAMED}
    output: dict[str, Any] = {}
    for _ in range(30):
        output = await graph.ainvoke(asked, thread, context=context)
        asked = None
        await asyncio.sleep(0.15)
        if not (await graph.aget_state(thread)).next:
            break
    state = (await graph.aget_state(thread)).values
    assert len({step["invocation"] for step in state["steps"]}) > 10
    assert state["degraded"] == []
    assert output["documents"]
    assert state["steps"][-1]["left_ms"] > 500, "2 s of looking did not count"


@best_of_three
async def test_time_between_the_steps_counts(services: Services) -> None:
    """A loop that is busy elsewhere takes time from the run as well."""

    async def busy() -> None:
        while True:
            time.sleep(0.005)  # noqa: ASYNC251  # hogging the loop is the point
            await asyncio.sleep(0)

    await ask(services, NAMED)
    hog = asyncio.create_task(busy())
    try:
        state = await ask(services, NAMED, patient())
    finally:
        hog.cancel()
    first, last = state["steps"][0], state["steps"][-1]
    taken = 60_000 - RESERVED_MS - last["left_ms"]
    assert taken == pytest.approx((last["begun"] - first["begun"]) * 1000 + last["ms"], abs=1)
    assert taken > sum(step["ms"] for step in state["steps"]) + 20
    assert len({step["invocation"] for step in state["steps"]}) == 1


async def test_the_language_model_is_asked_beside_the_search(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server() as llm:
        llm.says(QUESTION, replace(understood("Katherine Mansfield"), delay=0.2))
        chat = await open_chat(llm, monkeypatch)
        both = with_faults(services, chunks={"search_vector": sleeps(0.2)})
        state = await ask(replace(both, chat=chat), NAMED)
    began = {step["node"]: step["begun"] for step in state["steps"]}
    ended = {step["node"]: step["begun"] + step["ms"] / 1000 for step in state["steps"]}
    for one, other in itertools.permutations(("search_passages", "extract_entities")):
        assert began[one] < ended[other] - 0.15
    assert state["understanding"]["rung"] == "llm"


async def test_the_record_that_stands_in_has_what_time_is_left(services: Services) -> None:
    copy = replace(
        services,
        graph=Faulty(services.graph, expand=sleeps(60), mentions_of=fails(gone())),
        graph_breaker=breaker(),
    )
    state = await ask(copy, NAMED, patient(graph_ms=300, on_graph_failure="postgres"))
    assert {entry["failed"] for entry in state["degraded"]} == {False}
    assert {entry["stage"] for entry in state["degraded"]} == {
        "expand_graph",
        "retrieve_entity_chunks",
    }
    assert [e for e in state["entities"] if e["path"]] or state["entity_passages"]
