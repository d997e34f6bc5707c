"""`ClewRetriever`: the graph's documents, awaited or not, as many and as few as the call says."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from pydantic import ValidationError

from clew.context import RetrievalContext
from clew.graph import ingestion, retrieval
from clew.serving.retriever import ClewRetriever
from clew.stores.access import acting_as
from clew.stores.errors import UnknownNamespace
from clew.tests.graph.scene import WORLD, patient

QUESTION = "Who founded the Hogarth Press?"
PRIVATE = {
    "id": "diary.md",
    "title": "The diary",
    "text": "Katherine Mansfield confided to Ottoline Secretname that she feared the winter.",
    "acl": ["ottoline"],
    "category": "diary",
}
RETRIEVER = ClewRetriever(namespaces=["letters"], context=patient())


@pytest.fixture
async def world(in_process: None) -> None:
    await ingestion.graph.ainvoke({"documents": [*WORLD, PRIVATE], "namespace": "letters"})


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


async def test_its_documents_are_those_of_the_graph_with_ids_and_thread(world: None) -> None:
    asked = {"question": QUESTION, "namespaces": ["letters"]}
    output = await retrieval.graph.ainvoke(asked, context=patient())
    found = await RETRIEVER.ainvoke(QUESTION)
    assert found == output["documents"]
    assert found[0].id == "letters/woolf.md#0"
    assert found[0].metadata["trail"]["thread"]


async def test_a_call_says_how_many_and_which(world: None) -> None:
    assert len(await RETRIEVER.ainvoke(QUESTION)) > 2
    assert len(await RETRIEVER.ainvoke(QUESTION, k=2)) == 2
    assert len(RETRIEVER.invoke(QUESTION, k=2)) == 2
    with acting_as("ottoline"):
        narrowed = await RETRIEVER.ainvoke(QUESTION, k=3, filter={"category": ["diary"]})
        assert ids(narrowed) == ["letters/diary.md#0"]
        assert RETRIEVER.invoke(QUESTION, filter={"category": ["diary"]}) == narrowed
    assert await RETRIEVER.ainvoke(QUESTION, filter={"category": ["diary"]}) == []


async def test_k_leaves_to_the_persona_what_nobody_set(world: None) -> None:
    chosen = RetrievalContext(persona="friend", budget_ms=60_000, graph_ms=60_000)
    said: list[dict[str, Any]] = []

    class Outputs(BaseCallbackHandler):
        def on_chain_end(self, outputs: Any, **_: Any) -> None:
            if isinstance(outputs, dict) and "documents" in outputs:
                said.append(outputs)

    retriever = ClewRetriever(namespaces=["letters"], context=chosen)
    found = await retriever.ainvoke(QUESTION, {"callbacks": [Outputs()]}, k=1)
    assert said[-1]["documents"] == found
    traversal = said[-1]["diagnostics"]["traversal"]
    assert (traversal["persona"], traversal["passages"]) == ("friend", 15)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"k": 0}, "top_k"),
        ({"k": 101}, "top_k"),
        ({"filter": {"colour": "red"}}, "colour"),
        ({"filter": {"date_from": "1999"}}, "date_from"),
    ],
)
async def test_what_cannot_be_is_refused_by_name(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        await RETRIEVER.ainvoke(QUESTION, **arguments)
    with pytest.raises(ValidationError, match=named):
        RETRIEVER.invoke(QUESTION, **arguments)


async def test_errors_are_raised_to_both_kinds_of_callers(world: None) -> None:
    nowhere = ClewRetriever(namespaces=["nowhere"])
    with pytest.raises(UnknownNamespace):
        await nowhere.ainvoke(QUESTION)
    with pytest.raises(UnknownNamespace):
        nowhere.invoke(QUESTION)


async def test_threads_and_loops_ask_at_once_each_as_whom_it_acts(world: None) -> None:
    def asking(who: str) -> list[str | None]:
        with acting_as(who):
            return ids(RETRIEVER.invoke("Whom did Katherine Mansfield confide in?"))

    people = ["ottoline", "virginia"] * 4
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(asking, people))
    assert ["letters/diary.md#0" in answer for answer in found] == [True, False] * 4
    batches = await RETRIEVER.abatch([QUESTION] * 4)
    assert batches == await asyncio.to_thread(RETRIEVER.batch, [QUESTION] * 4)


async def test_its_run_stands_in_the_trace_above_the_graphs(world: None) -> None:
    begun: dict[str, Any] = {}

    class Trace(BaseCallbackHandler):
        def on_retriever_start(self, *_: Any, **run: Any) -> None:
            begun["retriever"] = run["run_id"]

        def on_chain_start(self, *_: Any, **run: Any) -> None:
            begun.setdefault(run["name"], run["parent_run_id"])

    for ask in (RETRIEVER.ainvoke, lambda *a: asyncio.to_thread(RETRIEVER.invoke, *a)):
        begun.clear()
        await ask(QUESTION, {"callbacks": [Trace()]})
        assert begun["retrieval"] == begun["retriever"]


def test_a_program_that_does_not_await_ends_by_itself_and_says_nothing_more(
    world: None, dsn: str
) -> None:
    script = (
        "from clew.serving.retriever import ClewRetriever\n"
        "retriever = ClewRetriever(namespaces=['letters'])\n"
        f"print(retriever.invoke({QUESTION!r}, k=1)[0].metadata['title'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"CLEW_DATABASE_URL": dsn, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Virginia Woolf\n"
    assert done.stderr == ""
