"""`retrieve_tool`: what a model reads, what a program gets, and who is asking."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from clew.graph import ingestion
from clew.serving.tool import make_retrieve_tool, retrieve_tool
from clew.stores.access import acting_as
from clew.stores.errors import UnknownNamespace
from clew.tests.graph.scene import WORLD, patient

TOOL = make_retrieve_tool(context=patient())
PRIVATE = {
    "id": "diary.md",
    "title": "The diary",
    "text": "Katherine Mansfield confided to Ottoline Secretname that she feared the winter.",
    "acl": ["ottoline"],
}


@pytest.fixture
async def world(in_process: None) -> None:
    await ingestion.graph.ainvoke({"documents": [*WORLD, PRIVATE], "namespace": "letters"})


class User(BaseModel):
    """The context of an agent around the tool, which is none of the tool's business."""

    name: str = "Ann"


def agent(tool: Any = TOOL, saver: InMemorySaver | None = None) -> Any:
    """The part of an agent that calls tools, with state, context and checkpointer of its own."""
    builder = StateGraph(MessagesState, User)
    builder.add_node("tools", ToolNode([tool]))
    builder.add_edge(START, "tools")
    return builder.compile(checkpointer=saver)


def called(*said: Any, **arguments: Any) -> dict[str, Any]:
    """A conversation that ends with a call of the tool."""
    arguments = {"question": "Where was the husband of Katherine Mansfield born?", **arguments}
    call = {"name": TOOL.name, "args": arguments, "id": "1", "type": "tool_call"}
    return {"messages": [*said, AIMessage("", tool_calls=[call])]}


def titles(message: ToolMessage) -> list[str]:
    return [document.metadata["title"] for document in message.artifact["documents"]]


def test_a_model_sees_three_described_arguments_and_nothing_about_who_asks() -> None:
    schema = convert_to_openai_tool(retrieve_tool)["function"]
    fields = schema["parameters"]["properties"]
    assert set(fields) == {"question", "filters", "namespaces"}
    assert schema["parameters"]["required"] == ["question"]
    assert all(field["description"] for field in fields.values())
    assert "[1]" in schema["description"]
    pinned = make_retrieve_tool(namespaces=["letters"])
    assert set(pinned.args) == {"question", "filters"}


async def test_the_content_is_the_cited_context_and_the_artifact_the_output(world: None) -> None:
    answer = await agent().ainvoke(called(namespaces=["letters"]), context=User())
    message = answer["messages"][-1]
    assert message.status == "success"
    assert '<passage id="1"' in message.content
    assert message.content == message.artifact["context"]
    assert "John Middleton Murry" in titles(message)
    assert {"documents", "entities", "relationships", "degraded"} <= set(message.artifact)
    assert message.artifact["degraded"] == []


async def test_it_works_by_itself_and_for_callers_who_do_not_await(world: None) -> None:
    question = "Who founded the Hogarth Press?"
    asked = {"question": question, "namespaces": ["letters"]}
    awaited = await TOOL.ainvoke(asked)
    assert "Leonard Woolf" in awaited
    assert await asyncio.to_thread(TOOL.invoke, asked) == awaited
    assert TOOL.invoke(asked) == awaited, "although this thread's loop runs"
    pinned = make_retrieve_tool(namespaces=["letters"], context=patient())
    assert pinned.invoke(question) == awaited


@pytest.mark.parametrize("how", ["ainvoke", "invoke"])
async def test_only_acting_as_says_who_is_asking(world: None, how: str) -> None:
    async def said(**arguments: Any) -> str:
        asked = called(namespaces=["letters"], question="Whom did she confide in?", **arguments)
        if how == "ainvoke":
            return json.dumps((await agent().ainvoke(asked))["messages"][-1].content)
        return json.dumps(agent().invoke(asked)["messages"][-1].content)

    forged: dict[str, Any] = {"principals": ["ottoline"], "identity": "ottoline", "acl": ["x"]}
    assert "Secretname" not in await said(**forged)
    with acting_as("ottoline"):
        assert "Secretname" in await said()
    with acting_as("ottoline", namespaces=("elsewhere",)):
        assert "There is no namespace" in await said()


@pytest.mark.parametrize("how", ["ainvoke", "invoke"])
async def test_on_a_server_its_user_asks_and_nobody_else(world: None, how: str) -> None:
    may = ["namespace:letters"]
    ottoline = SimpleNamespace(identity="ottoline", is_authenticated=True, permissions=may)
    asked = called(namespaces=["letters"], question="Whom did she confide in?")

    async def said(**served: Any) -> str:
        config = {"configurable": {"graph_id": "agent", **served}}
        ask = agent().invoke if how == "invoke" else agent().ainvoke
        given = ask(asked, config)
        answer = given if how == "invoke" else await given
        return str(answer["messages"][-1].content)

    assert "Secretname" in await said(langgraph_auth_user=ottoline)
    with acting_as("ottoline"):
        assert "Secretname" not in await said()


async def test_what_went_wrong_is_a_tool_error_in_one_sentence_and_never_an_answer(
    world: None,
) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "There is no namespace 'nowhere'": {"namespaces": ["nowhere"]},
        "The question is empty": {"question": " "},
        "filters.date_from": {"filters": {"date_from": "last year"}},
    }
    for sentence, arguments in wrong.items():
        message = (await agent().ainvoke(called(**arguments)))["messages"][-1]
        assert message.status == "error"
        assert sentence in message.content
        assert message.artifact is None
        assert "Traceback" not in message.content
    with pytest.raises(UnknownNamespace):
        await TOOL.ainvoke({"question": "Who?", "namespaces": ["nowhere"]})
    with pytest.raises(UnknownNamespace):
        TOOL.invoke({"question": "Who?", "namespaces": ["nowhere"]})


async def test_a_database_that_is_down_is_a_tool_error(
    in_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"
    monkeypatch.setenv("CLEW_DATABASE_URL", url)
    message = (await agent().ainvoke(called()))["messages"][-1]
    assert message.status == "error"
    assert message.content.startswith("The database does not answer")


async def test_filters_narrow_and_nothing_found_is_said(world: None) -> None:
    filters = {"exclude": [document["id"] for document in WORLD]}
    asked = called(namespaces=["letters"], filters=filters)
    message = (await agent().ainvoke(asked))["messages"][-1]
    assert message.status == "success"
    assert message.content == "No passage was found."
    assert message.artifact["documents"] == []


async def test_earlier_turns_tell_whom_she_means(world: None) -> None:
    question = "Where was she born?"
    asked: dict[str, Any] = {"namespaces": ["letters"], "question": question}
    alone = (await agent().ainvoke(called(**asked)))["messages"]
    before = [HumanMessage("Tell me of Katherine Mansfield."), AIMessage("A writer [1].")]
    after = (await agent().ainvoke(called(*before, HumanMessage(question), **asked)))["messages"]
    assert titles(after[-1])[0] == "Katherine Mansfield"
    assert titles(alone[-1])[0] == "John Middleton Murry", "the words alone lead elsewhere"


async def test_an_agents_thread_does_not_fill_with_the_runs_own_state(world: None) -> None:
    saver = InMemorySaver()
    thread: dict[str, Any] = {"configurable": {"thread_id": "1"}}
    asked = called(namespaces=["letters"])
    answer = await agent(saver=saver).ainvoke(asked, thread, context=User())
    assert answer["messages"][-1].artifact["degraded"] == []
    spaces = {kept.config["configurable"]["checkpoint_ns"] for kept in saver.list(None)}
    assert spaces == {""}
