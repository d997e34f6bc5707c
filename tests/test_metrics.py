"""What Prometheus is told."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from prometheus_client import REGISTRY, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from clew.graph import retrieval
from clew.metrics import Held, watch
from clew.prompts.understand_question import PROMPT
from clew.services import Services
from clew.settings import Price
from clew.stores.breaker import Breaker
from clew.stores.cache import Cache
from clew.stores.errors import InvalidInput
from clew.stores.fallback import FallbackRate
from clew.tests.graph.scene import WORLD, ask, giving, gone, ingest, patient, with_faults, world
from clew.tests.graph.scene import fails as failing
from clew.tests.models.chat_server import QUESTION, Reply, chat_server, open_chat, understood

ROOT = Path(__file__).parents[1]
ASKED = "Whom did Katherine Mansfield marry?"
SECRET = {"id": "ledger-of-sins", "text": "Ermintrude Vasquez owed money to Katherine Mansfield."}

POOL = {"pool_size": 5, "pool_available": 2, "requests_waiting": 1}

Samples = dict[tuple[str, str], float]


class Owner:
    """Whoever holds breakers and caches."""


def scraped() -> Samples:
    text = generate_latest(REGISTRY).decode()
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("clew_")
    }


def grown(before: Samples) -> Samples:
    """By how much each sample has grown since."""
    return {key: value - before.get(key, 0) for key, value in scraped().items()}


def by_label(samples: Samples, name: str) -> dict[str, float]:
    """The samples of one metric that are not zero."""
    return {labels: value for (one, labels), value in samples.items() if one == name and value}


@pytest.fixture(scope="module")
async def services(template: str) -> AsyncIterator[Services]:
    async with world(template) as opened:
        yield opened


async def test_circuits_and_lookups_are_told_while_their_owner_lives() -> None:
    breaker = Breaker("a test", failures=(OSError,), threshold=1)
    cache = Cache[int]("tests", 10)
    owner, second = Owner(), Owner()
    watch(owner, Held([breaker], [cache]))
    assert scraped()["clew_circuit_state", "a test"] == 0
    with pytest.raises(OSError, match="gone"):
        async with breaker.call():
            raise OSError("gone")
    cache.put("a", 1)
    assert [cache.get("a"), cache.get("b"), cache.get("a")] == [1, None, 1]
    found = scraped()
    assert found["clew_circuit_state", "a test"] == 1
    assert found["clew_circuit_changes_total", "a test,open"] == 1
    assert found["clew_cache_lookups_total", "tests,yes"] == 2
    assert found["clew_cache_lookups_total", "tests,no"] == 1

    watch(second, Held([], [cache]))
    assert scraped()["clew_cache_lookups_total", "tests,yes"] == 4, "owners add up"
    del owner, second
    assert ("clew_circuit_state", "a test") not in scraped()


def test_of_several_event_loops_the_worst_fallback_is_told_and_pools_add_up() -> None:
    owners = Owner(), Owner()
    for owner, fell_back in zip(owners, (1, 3), strict=True):
        fallback = FallbackRate("A test", "mend it.")
        fallback.note(4, fell_back)
        watch(owner, Held(fallbacks={"a test": fallback}, pool=POOL.copy))
    found = scraped()
    assert found["clew_fallback_rate", "a test"] == 0.75
    assert found["clew_pool_connections", "idle"] >= 4
    assert found["clew_pool_connections", "used"] >= 6
    assert found["clew_pool_waiting", ""] >= 2


async def test_a_question_counts_once_with_its_steps_its_queries_and_its_results(
    services: Services,
) -> None:
    before = scraped()
    state = await ask(services, ASKED)
    found = grown(before)
    assert by_label(found, "clew_runs_total") == {"retrieval,complete": 1}
    assert by_label(found, "clew_run_seconds_count") == {"retrieval": 1}
    steps = by_label(found, "clew_step_seconds_count")
    assert steps == {f"retrieval,{step['node']}": 1 for step in state["steps"]}
    assert found["clew_step_seconds_sum", "retrieval,expand_graph"] > 0
    assert found["clew_store_seconds_count", "expand,graph"] == 1
    sources = by_label(found, "clew_results_total")
    assert sum(sources.values()) == len(state["documents"])
    assert set(sources) <= {"search", "graph", "both"}
    assert sources["both"] >= 1
    assert not by_label(found, "clew_degraded_total")


async def test_what_a_run_went_without_and_how_others_ended_is_told(services: Services) -> None:
    before = scraped()
    await ask(with_faults(services, graph={"expand": failing(gone())}), ASKED)
    with pytest.raises(InvalidInput):
        await ask(services, "  ")
    broken = with_faults(services, chunks={"fetch": failing(RuntimeError("a bug"))})
    with pytest.raises(RuntimeError):
        await ask(broken, ASKED)
    found = grown(before)
    assert by_label(found, "clew_runs_total") == {
        "retrieval,degraded": 1,
        "retrieval,refused": 1,
        "retrieval,failed": 1,
    }
    assert by_label(found, "clew_degraded_total") == {"retrieval,expand_graph": 1}


async def test_a_run_that_is_stepped_through_counts_once_and_one_given_up_as_cancelled(
    services: Services,
) -> None:
    before = scraped()
    graph = retrieval.build(giving(services)).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    given: Any = {"question": ASKED}
    await graph.ainvoke(given, thread, context=patient(), interrupt_after=["admit"])
    assert not by_label(grown(before), "clew_runs_total")
    await graph.ainvoke(None, thread, context=patient())
    assert by_label(grown(before), "clew_runs_total") == {"retrieval,complete": 1}

    waiting = asyncio.Event()

    async def hangs(*_: Any, **__: Any) -> None:
        waiting.set()
        await asyncio.sleep(60)

    given_up = asyncio.create_task(ask(with_faults(services, chunks={"score": hangs}), ASKED))
    await waiting.wait()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert by_label(grown(before), "clew_runs_total") == {
        "retrieval,complete": 1,
        "retrieval,cancelled": 1,
    }


async def test_documents_chunks_and_entities_by_type_are_counted_as_they_land(
    services: Services,
) -> None:
    before = scraped()
    report = await ingest(services, [*WORLD, SECRET], namespace="counted")
    first = grown(before)
    assert by_label(first, "clew_documents_total") == {"written": len(WORLD) + 1}
    assert by_label(first, "clew_chunks_total") == {"": report["chunks"]}
    assert by_label(first, "clew_entities_extracted_total")["Name"] > len(WORLD)
    assert by_label(first, "clew_runs_total") == {"ingestion,complete": 1}

    changed = {**SECRET, "text": "Ermintrude Vasquez owed nothing."}
    await ingest(services, [*WORLD, changed], namespace="counted")
    assert by_label(grown(before), "clew_documents_total") == {
        "written": len(WORLD) + 1,
        "unchanged": len(WORLD),
        "replaced": 1,
    }


async def test_tokens_and_money_are_counted_for_the_model_that_took_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("openai:dear", "openai:cheap")
    with chat_server() as server:
        prices = {name: Price(input=1, output=10) for name in names}
        chat = await open_chat(server, monkeypatch, names=names, prices=prices)
        server.says(QUESTION, Reply(status=401), model="dear")
        good: Any = understood("Katherine Mansfield").content
        server.says(QUESTION, Reply(good, tokens=(200, 7)), model="cheap")
        before = scraped()
        answered = await chat.ask(
            PROMPT, {"question": ASKED, "history": ""}, seconds=30, scope=None
        )
    assert answered.call["model"] == "openai:cheap"
    found = grown(before)
    assert by_label(found, "clew_model_calls_total") == {
        "openai:dear,failed": 1,
        "openai:cheap,answered": 1,
    }
    assert by_label(found, "clew_model_tokens_total") == {
        "input,openai:cheap": 200,
        "output,openai:cheap": 7,
    }
    money = by_label(found, "clew_model_money_dollars_total")
    assert money == {"openai:cheap": pytest.approx(0.00027)}


async def test_a_scrape_holds_no_word_of_a_caller_a_document_or_a_tenant(
    services: Services,
) -> None:
    await ingest(services, [SECRET], namespace="tenant-of-ours")
    await ask(services, "Who owed money to Zebediah?", namespaces=["tenant-of-ours"])
    text = generate_latest(REGISTRY).decode()
    for secret in ("tenant-of-ours", "Zebediah", "Ermintrude", "ledger-of-sins"):
        assert secret not in text


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    kinds = {"counter": "_total", "histogram": "_bucket", "gauge": ""}
    exposed = {
        f"{family.name}{kinds[family.type]}"
        for family in REGISTRY.collect()
        if family.name.startswith("clew_")
    }
    dashboard = json.loads((ROOT / "deploy" / "grafana.json").read_text("utf-8"))
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\bclew_\w+", target["expr"])
    }
    assert asked == exposed
