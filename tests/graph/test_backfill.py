"""What a language model had no answer about is read again, from the record alone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
import typer.main
import yaml

from clew.graph import backfill
from clew.models.chat import ChatModel
from clew.nodes.ingestion.recall import BATCH_DOCUMENTS
from clew.services import Services
from clew.serving.cli import app
from clew.stores.access import Access, acting_as
from clew.stores.errors import InvalidInput, UnknownNamespace
from clew.stores.unfinished import CHANGED
from clew.tests.conftest import OpenTestServices
from clew.tests.models.chat_server import Reply, mended
from clew.tests.nodes.ingestion.readers import (
    ReadingServer,
    entity,
    graph_of,
    reading_server,
    relation,
)

from .landed import content, same, whole
from .scene import giving, ingest
from .test_ingestion_graph import rows

MANIFEST = Path(__file__).parents[2] / "deploy" / "backfill.yaml"
PATIENCE = 120.0  # [s] for a process to get somewhere
ACCESS = Access(("default",))

DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": "mansfield.md",
        "title": "Katherine Mansfield (writer)",
        "date": "1923-01-09",
        "metadata": {"related": ["Virginia Woolf"]},
        "text": (
            "# Katherine Mansfield\n\nKatherine Mansfield was a writer born in Wellington.\n\n"
            "## Marriage\n\nShe married [John Middleton Murry](murry.md) in London. "
            + "Plain words follow here, as they do in a long story. " * 60
            + "\n\n## Death\n\nTuberculosis (TB) killed her near Fontainebleau in January 1923."
        ),
    },
    {
        "id": "murry.md",
        "title": "John Middleton Murry",
        "text": "John Middleton Murry, a critic, wed Katherine Mansfield and met Virginia Woolf.",
    },
    {"id": "weather", "text": "rain falls on the plain and the wind blows over the grass."},
]
GOOD = {
    "writer born": graph_of(
        [
            entity("Katherine Mansfield", "person", 0.99, "Mansfield"),
            entity("John Middleton Murry", "person"),
            entity("Wellington", "place"),
            entity("tuberculosis", "concept"),
            entity("long story", "object", 0.8),
        ],
        [relation("Katherine Mansfield", "MARRIED_TO", "John Middleton Murry")],
    ),
    "a critic": graph_of(
        [
            entity("John Middleton Murry", "person", 0.9, "critic"),
            entity("Virginia Woolf", "person"),
        ],
        [relation("John Middleton Murry", "MET", "Virginia Woolf")],
    ),
    "rain falls": graph_of([entity("rain", "concept"), entity("wind", "concept")]),
}
DOWN = {words: Reply(status=400) for words in GOOD}


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReadingServer]:
    with reading_server(monkeypatch) as started:
        yield started


@pytest.fixture
async def reading(open_test_services: OpenTestServices, llm: ReadingServer) -> Services:
    return await open_test_services(
        chat_model="openai:scripted", ingest_extraction="llm", ingest_llm_seconds=5.0
    )


async def complete(
    services: Services, *, namespace: str = "default", every: bool = False, limit: int | None = None
) -> dict[str, Any]:
    """Run the backfill with a model of which nothing bad is known; returns its report."""
    if services.chat is not None:
        mended(cast("ChatModel", services.chat))
    graph = backfill.build(giving(services)).compile()
    output = await graph.ainvoke({"target": namespace, "every": every, "limit": limit})
    report: dict[str, Any] = output["report"]
    return report


async def pending(services: Services) -> list[str]:
    found = await rows(
        services, "select key from documents where enrichment = 'pending' order by namespace, key"
    )
    return [key for (key,) in found]


def unsure(stored: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without how sure entities are: one keeps the most that any document ever made it."""
    return {**stored, "entities": [row[:5] + row[6:] for row in stored["entities"]]}


async def test_it_leaves_what_an_answer_at_once_would_have_left(
    reading: Services, llm: ReadingServer, dsn: str
) -> None:
    llm.answers = GOOD
    await ingest(reading, DOCUMENTS, sections=True)
    at_once = content(dsn)
    await reading.documents.delete([d["id"] for d in DOCUMENTS], access=ACCESS)
    llm.answers = DOWN
    report = await ingest(reading, DOCUMENTS, sections=True)
    assert (report["written"], report["unfinished_count"]) == (3, 3)
    offline = content(dsn)
    assert offline["mentions"] != at_once["mentions"]
    llm.answers = GOOD
    report = await complete(reading)
    assert (report["replaced"], report["unfinished"], report["skipped"]) == (3, [], [])
    assert report["chunks"] == 0, "no text is encoded again"
    assert report["llm"]["calls"] == 3
    same(unsure(content(dsn)), unsure(at_once))
    with psycopg.connect(dsn, options="-c search_path=clew,public") as connection:
        assert whole(connection) == 3
    again = await ingest(reading, DOCUMENTS, sections=True)
    assert (again["unchanged"], again["replaced"]) == (3, 0), "nor by a later ingestion"
    assert (await complete(reading))["llm"]["calls"] == 0


async def test_what_fails_again_stays_as_it_is_and_waits(
    reading: Services, llm: ReadingServer, dsn: str
) -> None:
    llm.answers = DOWN
    await ingest(reading, DOCUMENTS)
    before = content(dsn)
    report = await complete(reading)
    assert (report["replaced"], report["unfinished_count"]) == (0, 3)
    assert "gave no usable answer" in report["unfinished"][0]["reason"]
    same(content(dsn), before)
    llm.answers = {**GOOD, "a critic": Reply(status=400)}
    report = await complete(reading)
    assert report["replaced"] == 2
    assert [one["source"] for one in report["unfinished"]] == ["murry.md"]
    assert await pending(reading) == ["murry.md"]


async def test_it_goes_on_through_more_than_a_batch_and_stops_at_the_limit(
    reading: Services, llm: ReadingServer
) -> None:
    count = 2 * BATCH_DOCUMENTS + 3
    documents = [{"id": f"p{n:03}", "text": f"Page {n} has rain falls."} for n in range(count)]
    llm.answers = DOWN
    await ingest(reading, documents)
    llm.answers = {"Page 1 has": Reply(status=400), **GOOD}
    report = await complete(reading, limit=BATCH_DOCUMENTS + 2)
    assert (report["replaced"], report["unfinished_count"]) == (BATCH_DOCUMENTS + 1, 1)
    assert len(await pending(reading)) == count - BATCH_DOCUMENTS - 1
    report = await complete(reading)
    assert (report["replaced"], await pending(reading)) == (BATCH_DOCUMENTS + 1, ["p001"])


async def test_all_also_reads_what_came_in_before_there_was_a_model_and_each_once(
    reading: Services, open_test_services: OpenTestServices, llm: ReadingServer, dsn: str
) -> None:
    given = {"id": "given", "text": "Ada met Bob.", "graph": {"triples": [["Ada", "met", "Bob"]]}}
    await ingest(await open_test_services(), [*DOCUMENTS, given])
    llm.answers = GOOD
    assert (await complete(reading))["llm"]["calls"] == 0
    report = await complete(reading, every=True)
    assert (report["replaced"], report["llm"]["calls"]) == (3, 3)
    assert (await complete(reading, every=True))["llm"]["calls"] == 0
    again = await ingest(reading, [*DOCUMENTS, given])
    assert (again["unchanged"], again["llm"]["calls"]) == (4, 0)
    other = await open_test_services(chat_model="openai:other", ingest_extraction="llm")
    assert (await complete(other, every=True))["replaced"] == 3


async def test_a_document_that_changes_meanwhile_is_left_alone(
    reading: Services, llm: ReadingServer
) -> None:
    llm.answers = DOWN
    await ingest(reading, DOCUMENTS)
    said = cast("dict[str, Any]", GOOD["a critic"].content)
    llm.answers = {**GOOD, "a critic": Reply(said, delay=1.0)}
    asked = len(llm.requests)
    running = asyncio.create_task(complete(reading))
    while len(llm.requests) < asked + 3:  # noqa: ASYNC110  # other threads count them
        await asyncio.sleep(0.01)
    changed = {"id": "murry.md", "text": "Somebody else edited Adelphi."}
    await ingest(reading, [changed])
    await reading.documents.delete(["weather"], access=ACCESS)
    report = await running
    assert report["replaced"] == 1
    assert {one["source"]: one["reason"] for one in report["skipped"]} == {
        "murry.md": CHANGED, "weather": CHANGED,
    }  # fmt: skip
    keys = await rows(reading, "select key from documents order by 1")
    assert keys == [("mansfield.md",), ("murry.md",)]
    assert await rows(reading, "select 1 from chunks where text like '%Adelphi%'")
    assert await pending(reading) == []


async def test_tenants_are_completed_apart_and_access_lists_stay(
    reading: Services, llm: ReadingServer
) -> None:
    llm.answers = DOWN
    await ingest(reading, DOCUMENTS, namespace="one", acl=["ann"])
    await ingest(reading, DOCUMENTS, namespace="two", acl=["bob"])
    llm.answers = GOOD
    assert (await complete(reading, namespace="one"))["replaced"] == 3
    assert len(await pending(reading)) == 3
    lists = await rows(reading, "select distinct namespace, acl from documents order by 1")
    assert lists == [("one", ["ann"]), ("two", ["bob"])]
    typed = "select distinct namespace from entities where type = 'Person'"
    assert await rows(reading, typed) == [("one",)]
    with acting_as("eve", namespaces=("two",)), pytest.raises(UnknownNamespace):
        await complete(reading, namespace="one")


async def test_without_a_model_or_a_namespace_it_says_what_to_do(
    reading: Services, services: Services
) -> None:
    with pytest.raises(InvalidInput, match="set CLEW_INGEST_EXTRACTION=llm and CLEW_CHAT_MODEL"):
        await complete(services)
    with pytest.raises(UnknownNamespace, match="There is no namespace 'nowhere'"):
        await complete(reading, namespace="nowhere")


def start(dsn: str, *arguments: str) -> subprocess.Popen[str]:
    """`clew backfill` in a process of its own."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    main = "from clew.serving.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", main, "backfill", *arguments],
        env={
            **bare,
            "CLEW_DATABASE_URL": dsn,
            "CLEW_CHAT_MODEL": "openai:scripted",
            "CLEW_INGEST_EXTRACTION": "llm",
            "HF_HUB_OFFLINE": "1",
            "COLUMNS": "200",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def test_a_run_that_is_killed_leaves_whole_documents_and_the_next_one_completes(
    reading: Services, llm: ReadingServer, dsn: str
) -> None:
    count = 3 * BATCH_DOCUMENTS
    documents = [
        {"id": f"p{n}", "title": f"Page {n} (of many)", "text": f"Ada saw Turin. rain falls {n}."}
        for n in range(count)
    ]
    said = cast("dict[str, Any]", GOOD["rain falls"].content)
    llm.answers = {"rain falls": Reply(said)}
    await ingest(reading, documents)
    at_once = content(dsn)
    await reading.documents.delete([str(d["id"]) for d in documents], access=ACCESS)
    llm.answers = DOWN
    await ingest(reading, documents)
    llm.answers = {"rain falls": Reply(said, delay=0.3)}
    run = start(dsn, "--json")
    deadline = time.monotonic() + PATIENCE
    while len(await pending(reading)) > count - BATCH_DOCUMENTS and time.monotonic() < deadline:
        assert run.poll() is None, run.communicate()
        await asyncio.sleep(0.02)
    run.kill()
    run.communicate()
    left = len(await pending(reading))
    assert 0 < left <= count - BATCH_DOCUMENTS
    with psycopg.connect(dsn) as connection:
        assert whole(connection) == count
    out, err = await asyncio.to_thread(start(dsn, "--json").communicate, timeout=PATIENCE)
    assert json.loads(out)["replaced"] == left, err
    same(content(dsn), at_once)


async def test_the_command_says_how_many_were_completed_and_why_not_the_others(
    reading: Services, llm: ReadingServer, dsn: str
) -> None:
    llm.answers = DOWN
    await ingest(reading, DOCUMENTS)
    llm.answers = {**GOOD, "a critic": Reply(status=400)}
    run = start(dsn, "-n", "default")
    out, err = await asyncio.to_thread(run.communicate, timeout=PATIENCE)
    assert run.returncode == 0, err
    assert out.startswith("2 of 3 completed; 1 still pending: The chat model")
    llm.answers = GOOD
    run = start(dsn)
    out, err = await asyncio.to_thread(run.communicate, timeout=PATIENCE)
    assert out == "1 of 1 completed.\n", err


def test_the_job_for_a_cluster_runs_a_command_that_there_is() -> None:
    job = yaml.safe_load(MANIFEST.read_text("utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    pod = job["spec"]["template"]["spec"]
    assert pod["restartPolicy"] in ("Never", "OnFailure")
    (container,) = pod["containers"]
    program, name, *arguments = container["command"]
    assert (program, name) == ("clew", "backfill")
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]  # a group
    with command.make_context(name, [*arguments]) as context:
        assert context.params["as_json"] is True
    assert container["envFrom"] == [{"secretRef": {"name": "clew"}}]
