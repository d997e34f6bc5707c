"""Spans at a collector and a line of log a run, from processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from clew.services import Services
from clew.tests.graph.scene import WORLD, ingest
from clew.tests.models.chat_server import QUESTION, ChatServer, Reply, chat_server, understood

from .collector import Collector, collecting
from .conftest import run_clew

ASKED = "Whom did Katherine Mansfield marry?"
WRITTEN = "John Middleton Murry"
SLOW = ("-s", "budget_ms=60000", "-s", "search_ms=60000", "-s", "graph_ms=60000")
PATIENT = (*SLOW, "-s", "llm_ms=60000", "-s", 'synonyms="off"')


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as opened:
        yield opened


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with chat_server() as server:
        reply = understood("Katherine Mansfield")
        server.says(QUESTION, Reply(reply.content, tokens=(1000, 20)))
        yield server


@pytest.fixture
async def loaded(services: Services) -> Services:
    await ingest(services, WORLD)
    return services


def environment(dsn: str, collector: Collector, model: ChatServer, **more: str) -> dict[str, str]:
    return {
        "CLEW_DATABASE_URL": dsn,
        "CLEW_CHAT_MODEL": "openai:scripted",
        "CLEW_CHAT_PRICES": json.dumps({"openai:scripted": {"input": 2.0, "output": 50.0}}),
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "not-a-key",
        "NO_PROXY": "127.0.0.1",
        "CLEW_OTEL": "true",
        "CLEW_LOG_FORMAT": "json",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        **more,
    }


async def test_a_run_is_a_tree_of_spans_and_one_line_and_neither_holds_what_was_asked(
    loaded: Services, dsn: str, collector: Collector, model: ChatServer
) -> None:
    done = run_clew("ask", ASKED, *PATIENT, environment=environment(dsn, collector, model))
    assert done.returncode == 0, done.stderr

    assert collector.services == {"clew"}
    run = collector.named("retrieval")
    assert run.parent == b""
    assert not run.failed
    told = run.attributes
    assert told["gen_ai.operation.name"] == "retrieval"
    assert (told["clew.plan"], told["clew.intent"]) == ("hybrid", "relational")
    assert told["clew.passages"] >= 2
    assert (told["clew.input_tokens"], told["clew.output_tokens"]) == (1000, 20)
    assert told["clew.degraded"] == []
    assert told["clew.outcome"] == "complete"

    steps = [one for one in collector.spans if "clew.step" in one.attributes]
    assert {"retrieval.admit", "retrieval.build_context"} < {one.name for one in steps}
    assert {collector.parent_of(one) for one in steps} == {"retrieval"}
    assert max(one.nanoseconds for one in steps) <= run.nanoseconds

    walk = collector.named("graph.expand")
    assert collector.parent_of(walk) == "retrieval.expand_graph"
    assert walk.attributes["db.system.name"] == "postgresql"

    question = collector.named("chat scripted")
    assert collector.parent_of(question) == "retrieval.extract_entities"
    assert question.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 20,
        "clew.money_dollars": 0.003,
    }

    [line] = lines(done.stderr)
    assert line["run"] == told["clew.run"]
    assert (line["graph"], line["outcome"], line["plan"]) == ("retrieval", "complete", "hybrid")
    assert line["passages"] == told["clew.passages"]
    assert line["money"] == 0.003
    assert line["ms"] > 0

    for secret in ("Mansfield", "marry", "Wellington", WRITTEN):
        assert secret.encode() not in collector.bodies
        assert secret not in done.stderr


async def test_what_was_asked_and_found_is_told_to_whoever_opts_in(
    loaded: Services, dsn: str, collector: Collector, model: ChatServer
) -> None:
    opted = environment(dsn, collector, model, CLEW_OTEL_CONTENT="true")
    done = run_clew("ask", ASKED, *PATIENT, environment=opted)
    assert done.returncode == 0, done.stderr
    told = collector.named("retrieval").attributes
    assert told["gen_ai.retrieval.query.text"] == ASKED
    found = json.loads(told["gen_ai.retrieval.documents"])
    assert any(WRITTEN in one["content"] for one in found)
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert lines(done.stderr)[0]["question"] == ASKED


APPLICATION = """
import asyncio, logging
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from clew.graph.retrieval import graph
from clew.services import close_services
from clew.stores.errors import InvalidInput

async def main():
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    with trace.get_tracer("application").start_as_current_span("conversation"):
        await asyncio.gather(*[graph.ainvoke({"question": q}) for q in ("Woolf?", "Murry?")])
    try:
        await graph.ainvoke({"question": "Mansfield", "namespaces": ["Never-Heard-Of"]})
    except InvalidInput:
        pass
    await close_services()

asyncio.run(main())
"""


async def test_spans_go_where_the_application_s_go_under_its_own_and_a_refused_run_is_one(
    loaded: Services, dsn: str, collector: Collector
) -> None:
    done = run_application(
        CLEW_DATABASE_URL=dsn, CLEW_OTEL="true", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url
    )
    assert done.returncode == 0, done.stderr
    runs = [one for one in collector.spans if one.name == "retrieval"]
    answered = [one for one in runs if not one.failed]
    [refused] = [one for one in runs if one.failed]
    assert [collector.parent_of(one) for one in answered] == ["conversation"] * 2
    assert len({one.attributes["clew.run"] for one in runs}) == 3
    admitted = [one.parent for one in collector.spans if one.name == "retrieval.admit"]
    assert sorted(admitted) == sorted(one.id for one in runs)

    assert collector.parent_of(refused) == ""
    assert refused.attributes["error.type"] == "UnknownNamespace"
    assert refused.attributes["clew.outcome"] == "refused"
    assert b"Never-Heard-Of" not in collector.bodies


def run_application(**environment: str) -> subprocess.CompletedProcess[str]:
    bare = {key: value for key, value in os.environ.items() if not key.startswith("CLEW_")}
    return subprocess.run(
        [sys.executable, "-c", APPLICATION],
        env={**bare, "HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def lines(text: str) -> list[dict[str, Any]]:
    """The lines of the log that tell of runs."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in found if line["logger"] == "clew.runs"]
