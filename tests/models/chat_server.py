"""A chat-completions server on a local port that says what the test wrote."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from clew.models.chat import ChatModel
from clew.models.embeddings import ModelUnavailable
from clew.stores.breaker import Breaker
from clew.stores.errors import StoreUnavailable

QUESTION, SYNONYMS = "QuestionUnderstanding", "SynonymAnswer"


@dataclass(frozen=True)
class Reply:
    """One answer: what the assistant says, or another HTTP body, after a while."""

    content: Any = None
    """A dictionary becomes JSON; text stays as it is."""
    status: int = 200
    body: bytes | None = None
    refusal: str | None = None
    delay: float = 0.0

    def encoded(self) -> bytes:
        if self.body is not None:
            return self.body
        if self.status != 200:
            return json.dumps({"error": {"message": "not now", "type": "server_error"}}).encode()
        text = self.content if isinstance(self.content, str) else json.dumps(self.content)
        message = {
            "role": "assistant",
            "content": None if self.refusal else text,
            "refusal": self.refusal,
        }
        return json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "scripted",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        ).encode()


class ChatServer:
    """`replies` by the name of the shape asked for; of a list, one after the other."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply | list[Reply]] = {}
        self.requests: list[dict[str, Any]] = []
        handler = type("Handler", (_Handler,), {"script": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def says(self, shape: str, *replies: Reply) -> None:
        self.replies[shape] = list(replies) if len(replies) > 1 else replies[0]

    def prompts(self) -> list[str]:
        return [request["messages"][-1]["content"] for request in self.requests]

    def asked(self, shape: str) -> int:
        return sum(shape_of(request) == shape for request in self.requests)

    def reply(self, request: dict[str, Any]) -> Reply:
        self.requests.append(request)
        scripted = self.replies.get(shape_of(request), Reply(status=400))
        if isinstance(scripted, list):
            return scripted.pop(0) if len(scripted) > 1 else scripted[0]
        return scripted

    def close(self) -> None:
        """Refuse connections from now on."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


def shape_of(request: dict[str, Any]) -> str:
    return str(request["response_format"]["json_schema"]["name"])


class _Handler(BaseHTTPRequestHandler):
    script: ChatServer

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        reply = self.script.reply(json.loads(self.rfile.read(length)))
        time.sleep(reply.delay)
        body = reply.encoded()
        try:
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the caller did not wait
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    try:
        yield server
    finally:
        server.close()


def chat_breaker() -> Breaker:
    return Breaker("language model", failures=(StoreUnavailable, ModelUnavailable, TimeoutError))


async def open_chat(
    server: ChatServer, patch: pytest.MonkeyPatch, *, concurrency: int = 8
) -> ChatModel:
    """The project's chat model, pointed at the server as a user would: by the environment."""
    patch.setenv("OPENAI_BASE_URL", server.url)
    patch.setenv("OPENAI_API_KEY", "not-a-key")
    patch.setenv("NO_PROXY", "127.0.0.1")
    return await ChatModel.open("openai:scripted", concurrency=concurrency, breaker=chat_breaker())


def understood(*names: str, **fields: Any) -> Reply:
    """A well-formed answer about a question."""
    answer = {"intent": "relational", "time": None, "place": None, "confidence": 0.9}
    return Reply({**answer, "entities": list(names), **fields})


def synonyms(**offered: list[str]) -> Reply:
    """A well-formed answer; underscores in a name stand for spaces."""
    return Reply(
        {
            "entities": [
                {"entity": name.replace("_", " "), "synonyms": texts}
                for name, texts in offered.items()
            ]
        }
    )
