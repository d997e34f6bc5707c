"""A chat-completions server on a local port that says what the test wrote."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from clew.models.chat import ChatModel
from clew.models.embeddings import ModelUnavailable
from clew.settings import Price
from clew.stores.breaker import Breaker
from clew.stores.cache import Cache
from clew.stores.errors import StoreUnavailable

QUESTION, SYNONYMS = "QuestionUnderstanding", "SynonymAnswer"
SCRIPTED = "openai:scripted"


@dataclass(frozen=True)
class Reply:
    """One answer: what the assistant says, or another HTTP body, after a while."""

    content: Any = None
    """A dictionary becomes JSON; text stays as it is."""
    status: int = 200
    body: bytes | None = None
    refusal: str | None = None
    delay: float = 0.0
    tokens: tuple[int, int] = (1, 1)
    """What the question and the answer cost."""
    cut: bool = False
    """End the connection in the middle of the body."""

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
        read, written = self.tokens
        return json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": "scripted",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": read,
                    "completion_tokens": written,
                    "total_tokens": read + written,
                },
            }
        ).encode()


class ChatServer:
    """`replies` by model and name of the shape asked for; of a list, one after the other."""

    def __init__(self) -> None:
        self.replies: dict[tuple[str, str], Reply | list[Reply]] = {}
        self.requests: list[dict[str, Any]] = []
        self.arrived = threading.Event()
        handler = type("Handler", (_Handler,), {"script": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def says(self, shape: str, *replies: Reply, model: str = "") -> None:
        """To whoever asks for the shape, or only to those who ask that model."""
        self.replies[model, shape] = list(replies) if len(replies) > 1 else replies[0]

    def prompts(self) -> list[str]:
        return [request["messages"][-1]["content"] for request in self.requests]

    def asked(self, shape: str) -> int:
        return sum(shape_of(request) == shape for request in self.requests)

    def models(self) -> list[str]:
        return [request["model"] for request in self.requests]

    def reply(self, request: dict[str, Any]) -> Reply:
        self.requests.append(request)
        self.arrived.set()
        shape = shape_of(request)
        anyone = self.replies.get(("", shape), Reply(status=400))
        scripted = self.replies.get((request["model"], shape), anyone)
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
            self.wfile.write(body[: len(body) // 2] if reply.cut else body)
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


def chat_breaker(name: str = "language model") -> Breaker:
    return Breaker(name, failures=(StoreUnavailable, ModelUnavailable, TimeoutError))


async def open_chat(
    server: ChatServer,
    patch: pytest.MonkeyPatch,
    *,
    names: Sequence[str] = (SCRIPTED,),
    concurrency: int = 8,
    prices: Mapping[str, Price] | None = None,
    remembered: int = 0,
) -> ChatModel:
    """The project's chat model, pointed at the server as a user would: by the environment."""
    patch.setenv("OPENAI_BASE_URL", server.url)
    patch.setenv("OPENAI_API_KEY", "not-a-key")
    patch.setenv("NO_PROXY", "127.0.0.1")
    return await ChatModel.open(
        names,
        concurrency=concurrency,
        prices=prices or {},
        breaker=chat_breaker,
        answers=Cache("answers", remembered),
    )


def mended(chat: ChatModel) -> ChatModel:
    """The same providers, of which nothing bad is known any more."""
    for provider in chat.providers:
        provider.breaker = chat_breaker(provider.name)
    return chat


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
