"""The example agent with a scripted chat model: it asks, cites, and knows whom `she` means."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from clew.graph import ingestion
from clew.tests.graph.scene import WORLD, patient
from clew.tests.models.chat_server import Reply

from .agent_server import agent_server, calls

ROOT = Path(__file__).parents[2]
FIRST, SECOND = "Who was Katherine Mansfield?", "Where was she born?"


@pytest.fixture
async def world(in_process: None) -> None:
    await ingestion.graph.ainvoke({"documents": WORLD, "namespace": "letters"})


@pytest.fixture(scope="module")
def example() -> Any:
    """`examples/agent.py`, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("agent", ROOT / "examples" / "agent.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def place(read: list[dict[str, Any]], title: str) -> int:
    """The number of the passage with this title in what the tool said last."""
    context = read[-1]["content"]
    return int(context.split(f' title="{title}')[0].rsplit('id="', 1)[1].rstrip('"'))


async def test_a_conversation_of_two_questions_is_answered_with_passages_cited(
    world: None, example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [calls(question=FIRST), Reply("A writer [1]."), calls(question=SECOND)]
    with agent_server(monkeypatch, *script, Reply("In Wellington [1].")) as model:
        agent = example.build_agent("openai:scripted", namespaces=["letters"], context=patient())
        thread = {"configurable": {"thread_id": "1"}}
        for question in (FIRST, SECOND):
            asked = {"messages": [{"role": "user", "content": question}]}
            messages = (await agent.ainvoke(asked, thread))["messages"]

    assert messages[-1].text == "In Wellington [1]."
    assert place(model.read(3), "Katherine Mansfield") == 1, "she is the one spoken of before"
    [(number, document)] = example.cited(messages).items()
    assert (number, document.metadata["title"]) == (1, "Katherine Mansfield")
    assert "Wellington" in document.page_content
    assert isinstance(document, Document)
    offered = model.requests[0]["tools"]
    assert [tool["function"]["name"] for tool in offered] == ["retrieve_passages"]
    assert "principals" not in json.dumps(offered)
    assert model.read(0)[0]["role"] == "system"


async def test_the_model_is_told_what_went_wrong_and_the_conversation_goes_on(
    world: None, example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Reply("I cannot look there.")
    with agent_server(monkeypatch, calls(question=FIRST), said) as model:
        agent = example.build_agent("openai:scripted", namespaces=["nowhere"])
        asked = {"messages": [{"role": "user", "content": FIRST}]}
        thread = {"configurable": {"thread_id": "1"}}
        messages = (await agent.ainvoke(asked, thread))["messages"]
    assert messages[-1].text == "I cannot look there."
    assert messages[-2].status == "error"
    assert model.read(1)[-1]["content"].startswith("There is no namespace 'nowhere'")
    assert example.cited(messages) == {}


def test_it_talks_in_a_terminal_as_the_page_says(
    world: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [calls(question=FIRST), Reply("A writer [1]."), calls(question=SECOND)]
    with agent_server(monkeypatch, *script, Reply("In Wellington [1].")) as model:
        done = subprocess.run(
            [sys.executable, "examples/agent.py", "openai:scripted", "--namespace", "letters"],
            input=f"{FIRST}\n{SECOND}\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=ROOT,
        )
    assert done.returncode == 0, done.stderr
    assert len(model.requests) == 4
    lines = done.stdout.splitlines()
    assert lines[0] == "A writer [1]."
    assert lines[2:] == ["In Wellington [1].", "  [1] Katherine Mansfield: inline"]
    assert done.stderr == ""
