"""A run stepped through, changed and forked over HTTP, with the calls that Studio makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from clew.services import Services
from clew.stores.access import acting_as
from clew.tests.graph.scene import WORLD, ask, ingest

from .test_server import served as served  # a fixture

QUESTION = "Whom did Katherine Mansfield marry?"
SECRET = {
    "id": "secret.md",
    "title": "Hidden Person",
    "text": "Katherine Mansfield married Hidden Person in secret.",
}
PATIENT = dict.fromkeys(("budget_ms", "llm_ms", "graph_ms", "search_ms"), 60000)
STEPS = 30


class Studio:
    """One thread, as the page drives it."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        made = client.post("/threads", json={"metadata": {"graph_id": "retrieval"}})
        self._thread = f"/threads/{made.json()['thread_id']}"

    def run(self, given: Any = None, **more: Any) -> list[tuple[str, Any]]:
        """The events of a run; without input it goes on from where it stopped."""
        body = {
            "assistant_id": "retrieval",
            "input": given,
            "context": PATIENT,
            "stream_mode": ["updates", "values"],
            **more,
        }
        told = []
        with self._client.stream("POST", f"{self._thread}/runs/stream", json=body) as stream:
            assert stream.is_success, stream.read()
            event = ""
            for line in stream.iter_lines():
                kind, _, content = line.partition(": ")
                if kind == "event":
                    event = content
                elif kind == "data":
                    told.append((event, json.loads(content)))
        assert "error" not in dict(told), told
        return told

    def state(self) -> Any:
        """The latest state with what comes next."""
        return self._asked("GET", "state")

    def history(self) -> Any:
        """Every state, the latest first."""
        return self._asked("POST", "history", json={"limit": 100})

    def edit(self, values: dict[str, Any], **where: Any) -> Any:
        """Change the state after a node; returns the checkpoint that comes of it."""
        return self._asked("POST", "state", json={"values": values, **where})["checkpoint"]

    def _asked(self, method: str, what: str, **more: Any) -> Any:
        answer = self._client.request(method, f"{self._thread}/{what}", **more)
        assert answer.is_success, answer.text
        return answer.json()


def ran(events: list[tuple[str, Any]]) -> set[str]:
    """The nodes that ran."""
    return {node for kind, told in events if kind == "updates" for node in told} - {"__interrupt__"}


@pytest.fixture
async def world(services: Services) -> None:
    """Five public pages, and one that only staff may read."""
    await ingest(services, WORLD, namespace="world")
    await ingest(services, [SECRET], namespace="world", acl=["staff"])


async def test_a_run_is_stepped_through_changed_and_forked_over_http(
    world: None, served: tuple[str, Path]
) -> None:
    with httpx.Client(base_url=served[0], timeout=60) as client:
        studio = Studio(client)
        asked: Any = {"question": QUESTION, "namespaces": ["world"]}
        passed: list[set[str]] = []
        while not passed or (studio.state()["next"] and len(passed) < STEPS):
            passed.append(ran(studio.run(asked, interrupt_after="*")))
            asked = None
            if passed[-1] == {"link_entities"}:
                assert studio.state()["next"] == ["expand_graph"]
        assert passed[:3] == [{"admit"}, {"search_passages", "extract_entities"}, {"link_entities"}]
        assert passed[-1] == {"build_context"}

        whole = studio.state()["values"]
        assert whole["documents"][0]["metadata"]["document_id"] == "mansfield.md"
        assert whole["degraded"] == []
        history = studio.history()
        assert history[0]["next"] == []
        assert len(history) == len(passed) + 2, "each superstep, the input and the end"

        # A fork from the middle: the edit is used, what was before is not run again.
        linked = next(state for state in history if state["next"] == ["expand_graph"])
        forked = studio.edit(
            {"traversal": {**linked["values"]["traversal"], "hops": 3}},
            as_node="link_entities",
            checkpoint=linked["checkpoint"],
        )
        again = ran(studio.run(checkpoint=forked))
        assert "expand_graph" in again
        assert not again & {"admit", "search_passages", "extract_entities", "link_entities"}
        far = studio.state()["values"]
        assert max(entity["hop"] for entity in far["entities"]) > max(
            entity["hop"] for entity in whole["entities"]
        )
        assert far["steps"][:4] == whole["steps"][:4]

        # Routers ask the changed state: without seeds there is nothing to walk from.
        bare = studio.edit({"seeds": []}, as_node="link_entities", checkpoint=linked["checkpoint"])
        assert studio.state()["next"] == ["merge_results"]
        assert "expand_graph" not in ran(studio.run(checkpoint=bare))

        # The thread answers the next question as a new one would.
        studio.run({"question": QUESTION, "namespaces": ["world"]})
        fresh = studio.state()["values"]
        assert fresh["context"] == whole["context"]
        assert len(fresh["steps"]) == len(whole["steps"])


async def test_no_edit_shows_what_the_caller_may_not_read(
    world: None, services: Services, served: tuple[str, Path]
) -> None:
    with acting_as("staff"):
        theirs = await ask(services, QUESTION, namespaces=["world"])
    assert "Hidden Person" in theirs["context"]
    everything = {
        "search_passages": {"hits": theirs["hits"]},
        "link_entities": {"seeds": [{**s, "name": "x"} for s in theirs["seeds"]]},
        "merge_results": {"candidates": theirs["candidates"]},
    }
    with httpx.Client(base_url=served[0], timeout=60) as client:
        for node, values in everything.items():
            studio = Studio(client)
            studio.run({"question": QUESTION, "namespaces": ["world"]}, interrupt_after=[node])
            studio.edit(values, as_node=node)
            studio.run()
            found = studio.state()["values"]
            assert found["documents"]
            assert "Hidden" not in json.dumps([found, studio.history()])
