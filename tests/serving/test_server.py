"""Both graphs behind a real LangGraph server, through its own client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from clew.tests.serving.dev_server import dev_server

STORY = {
    "id": "story",
    "title": "The cabin",
    "text": "Grandma Ruth built the cabin with Uncle Jim in Lake Placid.",
}


@pytest.fixture
def served(dsn: str, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The URL of `langgraph dev` without --allow-blocking, and its log."""
    log = tmp_path / "server.log"
    with dev_server(log, CLEW_DATABASE_URL=dsn) as url:
        yield url, log


def test_a_server_takes_documents_in_and_answers_without_blocking_its_loop(
    served: tuple[str, Path],
) -> None:
    url, log = served
    with httpx.Client(base_url=url, timeout=120) as client:
        graphs = client.post("/assistants/search", json={}).json()
        described = {graph["graph_id"]: graph["description"] for graph in graphs}
        assert set(described) == {"retrieval", "ingestion"}
        assert all(described.values())

        taken = _run(client, "ingestion", {"documents": [STORY], "namespace": "family"})
        assert taken["report"]["written"] == 1

        asked = {"question": "What did Uncle Jim build?", "namespaces": ["family"]}
        answer = _run(client, "retrieval", asked)
        assert [d["metadata"]["document_id"] for d in answer["documents"]] == ["story"]
        assert 'title="The cabin"' in answer["context"]
        assert not answer["degraded"]

        schemas = client.get(f"/assistants/{_id(graphs, 'retrieval')}/schemas").json()
        assert set(schemas["input_schema"]["properties"]) == {
            *("question", "passage", "document_id", "history"),
            *("namespaces", "filters"),
        }
        hops = schemas["context_schema"]["properties"]["graph_expansion_hops"]
        assert (hops["minimum"], hops["maximum"], hops["default"]) == (1, 3, 1)
        assert hops["description"]

        secret = {"paths": ["/etc/hostname"], "namespace": "family"}
        refused = _run(client, "ingestion", secret)
        assert "CLEW_INGEST_ROOT" in json.dumps(refused), (
            "a client must not read the server's files"
        )
    assert "Blocking call" not in log.read_text()


def _run(client: httpx.Client, graph: str, given: dict[str, Any]) -> dict[str, Any]:
    body = {"assistant_id": graph, "input": given, "context": {"budget_ms": 20_000}}
    if graph == "ingestion":
        del body["context"]
    response = client.post("/runs/wait", json=body)
    assert response.is_success, response.text
    answer: dict[str, Any] = response.json()
    return answer


def _id(graphs: list[dict[str, str]], name: str) -> str:
    return next(graph["assistant_id"] for graph in graphs if graph["graph_id"] == name)
