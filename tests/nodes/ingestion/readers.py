"""A language model that reads documents: a real server, which answers by what it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from clew.tests.models.chat_server import ChatServer, Reply, shape_of

__all__ = ["BAD", "NOTHING", "ReadingServer", "entity", "graph_of", "reading_server", "relation"]

SHAPE = "ExtractedGraph"


def entity(name: str, type_: str, confidence: float = 0.9, *aliases: str) -> dict[str, Any]:
    return {"name": name, "type": type_, "aliases": list(aliases), "confidence": confidence}


def relation(source: str, type_: str, target: str, confidence: float = 0.9) -> dict[str, Any]:
    return {"source": source, "type": type_, "target": target, "confidence": confidence}


def graph_of(entities: list[dict[str, Any]], relations: Sequence[dict[str, Any]] = ()) -> Reply:
    """A well-formed answer, for a hundred tokens read and twenty written."""
    return Reply({"entities": entities, "relations": [*relations]}, tokens=(100, 20))


NOTHING = graph_of([])

BAD = [
    pytest.param(Reply(status=500), id="500"),
    pytest.param(Reply(status=429), id="429"),
    pytest.param(Reply('{"entities": [{"name": "Ada'), id="JSON cut short"),
    pytest.param(Reply({"names": ["Ada"]}), id="another schema"),
    pytest.param(graph_of([entity("Ada", "spaceship")]), id="an unknown type"),
    pytest.param(graph_of([entity(f"Ada {n}", "person") for n in range(10_000)]), id="10,000"),
    pytest.param(Reply(refusal="No."), id="a refusal"),
    pytest.param(Reply({"entities": []}, cut=True), id="cut off"),
    pytest.param(Reply({"entities": []}, delay=1.5), id="late"),
]


class ReadingServer(ChatServer):
    """`answers` by words of the passage; of any other nothing is found. Questions are refused."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, Reply] = {}

    def reply(self, request: dict[str, Any]) -> Reply:
        if shape_of(request) != SHAPE:
            return Reply(status=400)
        self.requests.append(request)
        shown = request["messages"][-1]["content"]
        return next((said for words, said in self.answers.items() if words in shown), NOTHING)


@contextmanager
def reading_server(patch: pytest.MonkeyPatch) -> Iterator[ReadingServer]:
    """Started, and what services with `chat_model="openai:scripted"` ask."""
    server = ReadingServer()
    patch.setenv("OPENAI_BASE_URL", server.url)
    patch.setenv("OPENAI_API_KEY", "not-a-key")
    patch.setenv("NO_PROXY", "127.0.0.1")
    try:
        yield server
    finally:
        server.close()
