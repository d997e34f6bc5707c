"""`RemoteGraph` against a real server: the graph as if it were here, in every stream mode."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph.pregel.remote import RemoteException, RemoteGraph

from clew.tests.graph.scene import WORLD

from .test_server import served

__all__ = ["served"]

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
ASKED = {"question": "Who founded the Hogarth Press?", "namespaces": ["demo"]}
CONTEXT: Any = {"top_k": 2, "budget_ms": 20_000, "search_ms": 10_000, "graph_ms": 10_000}
OUTPUT = {"context", "documents", "entities", "relationships", "degraded", "diagnostics"}


async def test_a_remote_graph_answers_streams_keeps_threads_and_raises(
    served: tuple[str, Path],
) -> None:
    url, _ = served
    await RemoteGraph("ingestion", url=url).ainvoke({"documents": WORLD, "namespace": "demo"})
    graph = RemoteGraph("retrieval", url=url)

    answer = await graph.ainvoke(ASKED, context=CONTEXT)
    assert set(answer) == OUTPUT
    assert len(answer["documents"]) == 2, "the context arrived"
    assert answer["documents"][0]["id"] == "demo/woolf.md#0"
    assert answer["degraded"] == []

    async def streamed(mode: Any, config: Any = None) -> list[Any]:
        stream = graph.astream(ASKED, config, context=CONTEXT, stream_mode=mode)
        return [chunk async for chunk in stream]

    values = await streamed("values")
    ids = [document["id"] for document in answer["documents"]]
    assert [document["id"] for document in values[-1]["documents"]] == ids
    updates = [name for update in await streamed("updates") for name in update]
    assert (updates[0], updates[-1]) == ("admit", "build_context")
    assert {"search_passages", "expand_graph", "link_passages"} < set(updates)
    begun = [task for task in await streamed("tasks") if "input" in task]
    assert [task["name"] for task in begun if task["name"] == "admit"] == ["admit"]
    assert begun[0]["input"]["question"] == ASKED["question"]
    kinds = {event["type"] for event in await streamed("debug")}
    assert kinds == {"task", "task_result"}
    assert await streamed("messages") == await streamed("custom") == []
    both = {part.event for part in await streamed(["updates", "values"])}
    assert both == {"updates", "values"}

    thread: Any = {"configurable": {"thread_id": str(uuid4())}}
    kept = await streamed("checkpoints", thread)
    assert kept[-1]["next"] == []
    state = await graph.aget_state(thread)
    assert state.values["plan"]["mode"] == "hybrid"
    assert state.values["documents"][0]["id"] == "demo/woolf.md#0"

    with pytest.raises(RemoteException, match="There is no namespace 'nowhere'"):
        await graph.ainvoke({**ASKED, "namespaces": ["nowhere"]}, context=CONTEXT)
    with pytest.raises(RemoteException, match="top_k"):
        await graph.ainvoke(ASKED, context={"top_k": 1000})


async def test_the_pages_programs_work_in_a_process_of_their_own(
    served: tuple[str, Path],
) -> None:
    url, _ = served
    await RemoteGraph("ingestion", url=url).ainvoke({"documents": WORLD, "namespace": "demo"})
    client, tool = programs(url)
    said = run(client)
    assert "demo/" in said
    assert said.splitlines()[-1] == "build_context"
    called = f"{tool}\nimport asyncio\nprint(asyncio.run(retrieve.ainvoke('Virginia Woolf?')))"
    assert '<passage id="1" title="Virginia Woolf"' in run(called)


def programs(url: str) -> list[str]:
    """The page's programs that use a server, with this one's address in place of theirs."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    address = "http://127.0.0.1:2024"
    return [block.replace(address, url) for block in blocks if address in block]


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
