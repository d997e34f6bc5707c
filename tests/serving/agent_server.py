"""A chat model that calls tools, as a server on a local port which says what the test wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clew.tests.models.chat_server import ChatServer, Reply


class AgentServer(ChatServer):
    """`script`: what it says to an agent, one after the other; `requests` keeps what it read."""

    def __init__(self, *script: Reply) -> None:
        super().__init__()
        self.script = list(script)

    def reply(self, request: dict[str, Any]) -> Reply:
        self.requests.append(request)
        return self.script.pop(0)

    def read(self, turn: int) -> list[dict[str, Any]]:
        """The messages that it read when it said its `turn`-th line, counted from 0."""
        messages: list[dict[str, Any]] = self.requests[turn]["messages"]
        return messages


def calls(**arguments: Any) -> Reply:
    """The model calls the one tool it has, by name."""
    function = {"name": "retrieve_passages", "arguments": json.dumps(arguments)}
    call = {"id": f"call-{abs(hash(function['arguments']))}", "type": "function"}
    message = {"role": "assistant", "content": None, "tool_calls": [{**call, "function": function}]}
    whole = json.loads(Reply("").encoded())
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    return Reply(body=json.dumps(whole).encode())


@contextmanager
def agent_server(patch: pytest.MonkeyPatch, *script: Reply) -> Iterator[AgentServer]:
    """The server, to which OpenAI's client is pointed as a user would: by the environment."""
    server = AgentServer(*script)
    patch.setenv("OPENAI_BASE_URL", server.url)
    patch.setenv("OPENAI_API_KEY", "not-a-key")
    patch.setenv("NO_PROXY", "127.0.0.1")
    try:
        yield server
    finally:
        server.close()
