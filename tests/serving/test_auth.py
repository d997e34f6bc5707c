"""Who may do what on a real LangGraph server, and that a second user gets at nothing."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from langgraph_sdk import get_sync_client
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from clew.tests.conftest import TEMPLATE
from clew.tests.serving.dev_server import dev_server

SECRET = "Grandma Ruth hid the ruby necklace under the cabin in Lake Placid."
OPEN = "Uncle Jim painted the boathouse of Lake Placid green."
QUESTION = "What did Grandma Ruth hide in Lake Placid?"
PATIENT = {"budget_ms": 20_000}
JSON = {"Accept": "application/json, text/event-stream"}
HOLDERS: dict[str, dict[str, list[str]]] = {
    "alice": {"groups": ["ingest"], "namespaces": ["family"]},
    "bob": {"groups": ["friends"], "namespaces": ["family"]},
    "mallory": {"groups": ["ingest"], "namespaces": ["elsewhere"]},
    "root": {"groups": ["admin"], "namespaces": ["*"]},
}


def token_of(name: str) -> str:
    return f"a-long-and-secret-token-of-{name}"


def entry(name: str) -> dict[str, Any]:
    digest = hashlib.sha256(token_of(name).encode()).hexdigest()
    return {"token_sha256": digest, "identity": name, **HOLDERS[name]}


@dataclass
class House:
    """A server with tokens, and what Alice has on it."""

    url: str
    log: Path
    tokens: Path
    thread: str = ""
    run: str = ""
    checkpoint: str = ""

    def calling(self, name: str | None) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=_bearer(name) if name else {}, timeout=60)


@pytest.fixture(scope="module")
async def house(template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """Alice has taken two documents in, one for herself, and asked on a thread."""
    folder = tmp_path_factory.mktemp("auth")
    tokens, log = folder / "tokens.yaml", folder / "server.log"
    tokens.write_text(yaml.safe_dump([entry(name) for name in HOLDERS]))
    name = sql.Identifier("clew_auth")
    async with await psycopg.AsyncConnection.connect(template, autocommit=True) as connection:
        await connection.execute(
            sql.SQL("create database {} template {}").format(name, sql.Identifier(TEMPLATE))
        )
    dsn = make_conninfo("", **{**conninfo_to_dict(template), "dbname": "clew_auth"})
    with dev_server(log, CLEW_DATABASE_URL=dsn, CLEW_AUTH_TOKENS=str(tokens)) as url:
        house = House(url, log, tokens)
        with house.calling("alice") as alice:
            report = _wait(alice, "/runs/wait", "ingestion", _documents())["report"]
            assert report["written"] == 2, report
            house.thread = alice.post("/threads", json={}).json()["thread_id"]
            path = f"/threads/{house.thread}"
            assert SECRET in str(_wait(alice, f"{path}/runs/wait", "retrieval", _asked()))
            house.run = alice.get(f"{path}/runs").json()[0]["run_id"]
            house.checkpoint = alice.get(f"{path}/state").json()["checkpoint"]["checkpoint_id"]
        yield house


def _documents() -> dict[str, Any]:
    return {
        "documents": [
            {"id": "hidden", "title": "The necklace", "text": SECRET, "acl": ["alice"]},
            {"id": "open", "title": "The boathouse", "text": OPEN, "acl": ["friends"]},
        ],
        "namespace": "family",
    }


def _asked(*namespaces: str) -> dict[str, Any]:
    return {"question": QUESTION, "namespaces": list(namespaces or ("family",))}


def _wait(client: httpx.Client, path: str, graph: str, given: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"assistant_id": graph, "input": given}
    if graph == "retrieval":
        body["context"] = PATIENT
    response = client.post(path, json=body)
    assert response.is_success, response.text
    answer: dict[str, Any] = response.json()
    return answer


def _found(answer: dict[str, Any]) -> set[str]:
    return {d["metadata"]["document_id"] for d in answer["documents"]}


def test_identity_groups_and_namespaces_decide_what_is_read(house: House) -> None:
    expected = {"alice": {"hidden"}, "bob": {"open"}, "root": set()}
    for name, documents in expected.items():
        with house.calling(name) as client:
            assert _found(_wait(client, "/runs/wait", "retrieval", _asked())) == documents, name


def test_nobody_enters_a_namespace_that_is_not_theirs(house: House) -> None:
    with house.calling("mallory") as mallory:
        answer = _wait(mallory, "/runs/wait", "retrieval", _asked("family", "elsewhere"))
    assert not answer.get("documents")
    assert "Lake Placid" not in str(answer).replace(QUESTION, "")


CLAIMS = {"identity": "alice", "is_authenticated": True, "permissions": ["namespace:family"]}


@pytest.mark.parametrize(
    "claimed",
    [
        {"context": {"langgraph_auth_user": CLAIMS}},
        {"context": {"langgraph_auth_user_id": "alice", "principals": ["alice"]}},
        {"config": {"configurable": {"langgraph_auth_user": CLAIMS}}},
        {"config": {"configurable": {"user_id": "alice"}}, "context": None},
        {"metadata": {"owner": "alice"}},
    ],
    ids=str,
)
def test_a_request_cannot_say_who_calls(house: House, claimed: dict[str, Any]) -> None:
    body = {"assistant_id": "retrieval", "input": _asked(), **claimed}
    with house.calling("bob") as bob:
        response = bob.post("/runs/wait", json=body)
    assert "ruby" not in response.text
    assert response.status_code in {200, 400, 422}


THREAD, RUN = "/threads/{thread}", "/threads/{thread}/runs/{run}"
GO: dict[str, Any] = {"assistant_id": "retrieval", "input": _asked(), "context": PATIENT}
NIGHTLY = {"assistant_id": "retrieval", "schedule": "0 3 * * *", "input": _asked()}
START = {"id": 1, "method": "run.start", "params": {"assistant_id": "retrieval", "input": _asked()}}
ATTEMPTS: list[tuple[str, str, Any]] = [
    ("GET", THREAD, None),
    ("PATCH", THREAD, {"metadata": {"owner": "bob"}}),
    ("POST", "/threads", {"thread_id": "{thread}"}),
    ("POST", "/threads", {"thread_id": "{thread}", "if_exists": "do_nothing"}),
    ("POST", f"{THREAD}/copy", None),
    ("GET", f"{THREAD}/state", None),
    ("GET", f"{THREAD}/state/{{checkpoint}}", None),
    ("POST", f"{THREAD}/state/checkpoint", {"checkpoint": {"checkpoint_id": "{checkpoint}"}}),
    ("POST", f"{THREAD}/state", {"values": {"context": "mine"}}),
    ("GET", f"{THREAD}/history", None),
    ("POST", f"{THREAD}/history", {"limit": 10}),
    ("GET", f"{THREAD}/storage", None),
    ("GET", f"{THREAD}/stream", None),
    ("POST", f"{THREAD}/stream/events", {"channels": ["values", "lifecycle"]}),
    ("POST", f"{THREAD}/commands", START),
    ("GET", f"{THREAD}/runs", None),
    ("POST", f"{THREAD}/runs", GO),
    ("POST", f"{THREAD}/runs", {**GO, "if_not_exists": "create"}),
    ("POST", f"{THREAD}/runs/wait", {**GO, "input": None}),
    ("POST", f"{THREAD}/runs/stream", {**GO, "stream_mode": ["values", "debug"]}),
    ("POST", f"{THREAD}/runs/crons", NIGHTLY),
    ("GET", RUN, None),
    ("GET", f"{RUN}/join", None),
    ("GET", f"{RUN}/stream", None),
    ("POST", f"{RUN}/cancel", {}),
    ("POST", f"{RUN}/cancel?action=rollback", {}),
    ("POST", "/runs/cancel", {"thread_id": "{thread}", "run_ids": ["{run}"]}),
    ("POST", "/runs/cancel", {"status": "all"}),
    ("POST", "/runs/crons", NIGHTLY),
    ("POST", "/runs/crons/search", {}),
    ("POST", "/threads/search", {}),
    ("POST", "/threads/search", {"metadata": {"owner": "alice"}}),
    ("POST", "/threads/search", {"ids": ["{thread}"]}),
    ("POST", "/threads/count", {"metadata": {"owner": "alice"}}),
    ("POST", "/threads/prune", {"thread_ids": ["{thread}"]}),
    ("POST", "/runs/wait", {**GO, "webhook": "/threads/{thread}/copy"}),
    ("DELETE", RUN, None),
    ("DELETE", THREAD, None),
]


@pytest.mark.parametrize(("method", "path", "body"), ATTEMPTS, ids=str)
def test_another_user_gets_at_nothing(house: House, method: str, path: str, body: Any) -> None:
    names = {"thread": house.thread, "run": house.run, "checkpoint": house.checkpoint}
    with house.calling("bob") as bob:
        response = bob.request(method, path.format(**names), json=_filled(body, names))
    nothing = response.text in {"", "[]", "0", '{"pruned_count":0}'}
    assert nothing or response.status_code in {403, 404, 409, 422} or "404: Thread" in response.text
    assert "ruby" not in response.text
    with house.calling("alice") as alice:
        thread = alice.get(f"/threads/{house.thread}").json()
        assert (thread["metadata"]["owner"], thread["status"]) == ("alice", "idle")
        assert SECRET in str(thread["values"])
        assert [run["run_id"] for run in alice.get(f"/threads/{house.thread}/runs").json()] == [
            house.run
        ]


def test_a_socket_tells_its_owner_everything_and_another_user_nothing(house: House) -> None:
    with house.calling("alice") as alice:
        other = alice.post("/threads", json={}).json()["thread_id"]
        assert "ruby necklace" in _heard(house, other, "alice")
        assert "ruby" not in _heard(house, house.thread, "bob")
        assert len(alice.get(f"/threads/{house.thread}/runs").json()) == 1
    with pytest.raises(InvalidStatus), connect(_socket(house, house.thread)):
        pass


def _socket(house: House, thread: str) -> str:
    return f"{house.url.replace('http', 'ws', 1)}/threads/{thread}/stream/events"


def _heard(house: House, thread: str, name: str) -> str:
    """All that a socket says to who starts a run on it, until it closes or falls silent."""
    heard = []
    with (
        suppress(TimeoutError, ConnectionClosed),
        connect(_socket(house, thread), additional_headers=_bearer(name)) as socket,
    ):
        ask = {"channels": ["values", "lifecycle"]}
        socket.send(json.dumps({"id": 1, "method": "subscription.subscribe", "params": ask}))
        socket.send(json.dumps({**START, "id": 2}))
        while True:
            heard.append(str(socket.recv(timeout=5)))
    return "".join(heard)


def test_agents_that_call_over_a2a_and_mcp_are_who_their_token_says(house: House) -> None:
    task = {"id": f"{house.thread}:{house.run}", "contextId": house.thread}
    for method, params in {"tasks/get": task, "GetTask": task, "ListTasks": {}}.items():
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        with house.calling("bob") as bob:
            answer = bob.post("/a2a/retrieval", json=call, headers=JSON)
        assert "ruby" not in answer.text, answer.text
        assert (
            house.thread not in answer.text.replace(json.dumps(task), "") or "error" in answer.text
        )
    call = {
        **{"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        "params": {"name": "retrieve", "arguments": _asked()},
    }
    said = {}
    for name in ("alice", "bob", None):
        with house.calling(name) as client:
            said[name] = client.post("/mcp", json=call, headers=JSON).text
    assert "ruby necklace" in said["alice"]
    assert "ruby" not in said["bob"]
    assert "boathouse" in said["bob"]
    assert "send `Authorization: Bearer TOKEN`" in said[None]
    with house.calling("bob") as bob:
        call["params"] = {"name": "ingestion", "arguments": _documents()}
        refused = bob.post("/mcp", json=call, headers=JSON)
    assert "There is no tool of that name" in refused.text


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (None, "send `Authorization: Bearer TOKEN`"),
        ("Basic YWxpY2U6YWxpY2U=", "send `Authorization: Bearer TOKEN`"),
        ("Bearer", "send `Authorization: Bearer TOKEN`"),
        (f"Bearer {token_of('nobody')}", "not one that this server knows"),
        (f"Bearer {hashlib.sha256(token_of('alice').encode()).hexdigest()}", "not one that this"),
    ],
)
def test_without_a_known_token_every_door_answers_401(
    house: House, header: str | None, sentence: str
) -> None:
    doors = ["/threads/search", "/assistants/search", "/runs/wait", "/store/items/search", "/mcp"]
    for studio in ({}, {"x-auth-scheme": "langsmith"}, {"x-api-key": "lsv2_anything"}):
        headers = {**studio, **({"Authorization": header} if header else {})}
        for door in doors:
            response = httpx.post(f"{house.url}{door}", json={}, headers=headers)
            assert response.status_code == 401, door
            assert sentence in response.json()["detail"]


def test_only_what_is_said_to_be_open_answers_anybody(house: House) -> None:
    paths = httpx.get(f"{house.url}/openapi.json").json()["paths"]
    # Of the development server alone, which empties itself through one of them.
    spec = {p: how for p, how in paths.items() if not p.startswith(("/internal/", "/deploy"))}
    filled = {path: re.sub(r"\{\w+\}", str(uuid.uuid4()), path) for path in spec}
    answers = {
        path: {
            httpx.request(method, f"{house.url}{filled[path]}").status_code for method in methods
        }
        for path, methods in spec.items()
    }
    assert len(answers) > 40
    free = {path for path, statuses in answers.items() if statuses != {401}}
    told = {"/", "/ok", "/info", "/docs", "/openapi.json", "/metrics"}
    assert free == told | {"/healthz", "/readyz"}


@pytest.mark.parametrize("path", ["/runs", "/runs/wait", "/runs/stream", "/runs/batch", "{thread}"])
def test_documents_are_taken_in_for_the_group_ingest_only(house: House, path: str) -> None:
    with house.calling("bob") as bob:
        graphs = {
            a["graph_id"]: a["assistant_id"] for a in bob.post("/assistants/search", json={}).json()
        }
        thread = bob.post("/threads", json={"metadata": {"graph_id": "ingestion"}}).json()
        own = f"/threads/{thread['thread_id']}/runs/wait"
        for assistant in ("ingestion", graphs["ingestion"]):
            body = {"assistant_id": assistant, "input": _documents()}
            sent: Any = [body] if path == "/runs/batch" else body
            response = bob.post(path.format(thread=own), json=sent)
            assert response.status_code == 403, response.text
            assert "the group 'ingest'" in response.text


def test_nobody_writes_into_a_namespace_that_is_not_theirs(house: House) -> None:
    with house.calling("mallory") as mallory:
        answer = _wait(mallory, "/runs/wait", "ingestion", _documents())
    assert "may not use that namespace" in str(answer["__error__"])


def test_assistants_are_everybody_s_to_use_and_an_administrator_s_to_change(house: House) -> None:
    patient = {"graph_id": "retrieval", "name": "patient", "context": PATIENT}
    with house.calling("bob") as bob, house.calling("root") as root:
        assert bob.post("/assistants", json=patient).status_code == 403
        made = root.post("/assistants", json=patient).json()["assistant_id"]
        assert bob.get(f"/assistants/{made}").json()["name"] == "patient"
        assert _found(_wait(bob, "/runs/wait", made, _asked())) == {"open"}
        for change in ({"name": "mine"}, {"graph_id": "ingestion"}):
            assert bob.patch(f"/assistants/{made}", json=change).status_code == 403
        assert bob.delete(f"/assistants/{made}").status_code == 403
        assert root.patch(f"/assistants/{made}", json={"graph_id": "ingestion"}).status_code == 403
        assert root.post("/assistants", json={"graph_id": "ingestion"}).status_code == 403
        assert root.delete(f"/assistants/{made}").is_success


def test_items_of_the_store_are_their_owner_s(house: House) -> None:
    with (
        get_sync_client(url=house.url, headers=_bearer("alice")) as alice,
        get_sync_client(url=house.url, headers=_bearer("bob")) as bob,
    ):
        alice.store.put_item(["notes"], "ruby", {"text": SECRET})
        kept = alice.store.get_item(["notes"], "ruby")
        assert kept["value"]["text"] == SECRET
        assert alice.store.get_item(kept["namespace"], "ruby")["key"] == "ruby"
        for namespace in (["notes"], ["alice", "notes"], ["bob", "alice", "notes"]):
            assert bob.store.get_item(namespace, "ruby") is None
            assert bob.store.search_items(namespace)["items"] == []
            bob.store.delete_item(namespace, "ruby")
        for prefix in (None, [], ["alice"]):
            listed = bob.store.list_namespaces(prefix=prefix)["namespaces"]
            assert all(namespace[0] == "bob" for namespace in listed)
        assert alice.store.list_namespaces()["namespaces"] == [["alice", "notes"]]
        alice.store.delete_item(["notes"], "ruby")


def test_the_token_file_is_read_again_and_a_broken_one_admits_nobody(house: House) -> None:
    kept = house.tokens.read_text()
    try:
        house.tokens.write_text(yaml.safe_dump([entry("alice")]))
        assert {n: _status(house, n) for n in ("alice", "bob")} == {"alice": 200, "bob": 401}
        house.tokens.write_text("- {token_sha256: oops")
        assert _status(house, "alice") == 503
        house.tokens.unlink()
        assert _status(house, "alice") == 503
    finally:
        house.tokens.write_text(kept)
    assert _status(house, "bob") == 200
    log = house.log.read_text()
    assert "are not YAML; look at line 1" in log
    assert "Blocking call" not in log
    assert not [name for name in HOLDERS if token_of(name) in log], "no token is logged"


def test_a_token_is_kept_nowhere(house: House) -> None:
    with house.calling("alice") as alice:
        for path in (THREAD, f"{THREAD}/state", f"{THREAD}/history", f"{THREAD}/runs", RUN):
            kept = alice.get(path.format(thread=house.thread, run=house.run))
            assert kept.is_success
            assert token_of("alice") not in kept.text, path


def _status(house: House, name: str) -> int:
    with house.calling(name) as client:
        return client.post("/assistants/search", json={}).status_code


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"CLEW_AUTH_TOKENS": "{folder}/none.yaml"}, "cannot be read"),
        ({"CLEW_AUTH": "clew.nowhere:function"}, "cannot be imported"),
        ({"CLEW_AUTH_JWT_ISSUER": "https://issuer.example"}, "need each other"),
    ],
    ids=str,
)
def test_a_server_that_cannot_tell_its_callers_apart_does_not_start(
    tmp_path: Path, settings: dict[str, str], sentence: str
) -> None:
    environment = {key: value.format(folder=tmp_path) for key, value in settings.items()}
    with (
        pytest.raises(AssertionError, match=sentence),
        dev_server(tmp_path / "server.log", **environment),
    ):
        pass


def test_without_authentication_everybody_is_anonymous_and_reads_what_is_public(
    dsn: str, tmp_path: Path
) -> None:
    given = _documents()
    given["documents"].append(
        {"id": "public", "title": "The cabin", "text": "Grandma Ruth's cabin."}
    )
    with (
        dev_server(tmp_path / "server.log", CLEW_DATABASE_URL=dsn) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        _wait(client, "/runs/wait", "ingestion", given)
        for headers in ({}, _bearer("alice"), {"x-auth-scheme": "langsmith"}):
            client.headers = httpx.Headers(headers)
            assert _found(_wait(client, "/runs/wait", "retrieval", _asked())) == {"public"}
        for claimed in (CLAIMS, {**CLAIMS, "identity": "friends"}):
            body = {"assistant_id": "retrieval", "input": _asked()}
            body["context"] = {**PATIENT, "langgraph_auth_user": claimed}
            assert "ruby" not in client.post("/runs/wait", json=body).text


def _bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(name)}"}


def _filled(body: Any, names: dict[str, str]) -> Any:
    match body:
        case str():
            return body.format(**names)
        case dict():
            return {key: _filled(value, names) for key, value in body.items()}
        case list():
            return [_filled(value, names) for value in body]
        case _:
            return body
