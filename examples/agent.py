"""A chat agent that answers from Clew's passages and cites them, one line of input a question.

python examples/agent.py openai:gpt-5-mini --namespace demo
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from clew import acting_as
from clew.context import RetrievalContext
from clew.serving.tool import make_retrieve_tool

INSTRUCTIONS = (
    "You answer questions from retrieved passages. Call the tool before you answer. Put the number "
    "of the passage that says so, like [1], behind each statement. When no passage says it, say "
    "that you do not know."
)


def build_agent(
    model: str, *, namespaces: Sequence[str] = (), context: RetrievalContext | None = None
) -> Any:
    """The agent; its threads, which hold the conversations, are kept in memory."""
    return create_agent(
        init_chat_model(model),
        [make_retrieve_tool(namespaces=namespaces, context=context)],
        system_prompt=INSTRUCTIONS,
        checkpointer=InMemorySaver(),
    )


def cited(messages: Sequence[AnyMessage]) -> dict[int, Document]:
    """The passages behind the numbers of the last answer, which are those of the last call."""
    found = [m.artifact for m in messages if isinstance(m, ToolMessage) and m.artifact]
    numbers = {int(number) for number in re.findall(r"\[(\d+)\]", messages[-1].text)}
    documents = found[-1]["documents"] if found else []
    return {n: documents[n - 1] for n in sorted(numbers) if 0 < n <= len(documents)}


async def converse(agent: Any) -> None:
    """One conversation, until the input ends."""
    thread = {"configurable": {"thread_id": "terminal"}}
    while question := (await asyncio.to_thread(sys.stdin.readline)).strip():
        asked = {"messages": [{"role": "user", "content": question}]}
        messages = (await agent.ainvoke(asked, thread))["messages"]
        print(messages[-1].text)
        for number, document in cited(messages).items():
            print(f"  [{number}] {document.metadata['title']}: {document.metadata['source']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Talk with the documents.")
    parser.add_argument("model", help="provider:model for LangChain's init_chat_model")
    parser.add_argument("-n", "--namespace", action="append", default=[], help="where to look")
    parser.add_argument("--as", dest="principals", action="append", default=[], help="who asks")
    given = parser.parse_args()
    with acting_as(*given.principals):
        asyncio.run(converse(build_agent(given.model, namespaces=given.namespace)))
