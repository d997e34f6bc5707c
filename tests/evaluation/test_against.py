"""Another system, as a server that really listens."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clew.evaluation.against import Against
from clew.stores.errors import InvalidInput, StoreMisconfigured, StoreUnavailable


class Other:
    """What the server answers, and what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body: Any = {"documents": [{"id": "d2"}, {"id": "d1"}, {"id": "d2"}]}
        self.asked: list[dict[str, Any]] = []
        self.url = ""


@contextmanager
def listening() -> Iterator[Other]:
    """A server on this machine that answers as `Other` says."""
    other = Other()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            other.asked.append(json.loads(self.rfile.read(length)))
            body = other.body if isinstance(other.body, str) else json.dumps(other.body)
            self.send_response(other.status)
            self.send_header("Location", "http://example.invalid/")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    other.url = f"http://127.0.0.1:{server.server_address[1]}/search"
    try:
        yield other
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def other() -> Iterator[Other]:
    """A system that answers."""
    with listening() as system:
        yield system


def against(url: str, folder: Path, *, rate: float = 1000, local_only: bool = True) -> Against:
    return Against(url, folder=folder / "against", rate=rate, local_only=local_only)


async def test_the_question_is_posted_and_ids_come_back_in_order_without_repetition(
    other: Other, tmp_path: Path
) -> None:
    system = against(other.url, tmp_path)
    answer = await system.answer("Who?")
    await system.aclose()
    assert other.asked == [{"question": "Who?", "k": 20}]
    assert answer.ranked == ["d2", "d1"]
    assert answer.cited is None
    assert answer.ms["whole run"] > 0
    assert system.name == other.url.removeprefix("http://").removesuffix("/search")


@pytest.mark.parametrize(
    "document",
    [
        {"id": "d1"},
        {"document_id": "d1"},
        {"id": "chunk-7", "document_id": "d1"},
        {"id": "x/d1#0", "page_content": "…", "metadata": {"document_id": "d1", "rank": 1}},
    ],
)
async def test_ids_are_found_where_systems_put_them(
    other: Other, tmp_path: Path, document: dict[str, Any]
) -> None:
    """The last is what Clew's own server answers."""
    other.body = {"documents": [document], "context": "…"}
    system = against(other.url, tmp_path)
    assert (await system.answer("Who?")).ranked == ["d1"]
    await system.aclose()


async def test_an_answer_is_kept_on_disk_by_address_and_question(
    other: Other, tmp_path: Path
) -> None:
    for _ in range(2):
        system = against(other.url, tmp_path)
        first = await system.answer("Who?")
        assert first == await system.answer("Who?")
        await system.aclose()
    assert len(other.asked) == 1
    elsewhere = against(f"{other.url}/2", tmp_path)
    await elsewhere.answer("Who?")
    await elsewhere.answer("Where?")
    await elsewhere.aclose()
    assert len(other.asked) == 3


async def test_a_broken_file_is_asked_for_again(other: Other, tmp_path: Path) -> None:
    system = against(other.url, tmp_path)
    await system.answer("Who?")
    [kept] = (tmp_path / "against").iterdir()
    kept.write_text('{"ids": ')
    assert (await system.answer("Who?")).ranked == ["d2", "d1"]
    await system.aclose()
    assert len(other.asked) == 2


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"results": []}, "the list 'documents' is missing; it has 'results'"),
        ({"documents": {}}, "the list 'documents' is missing; it has 'documents'"),
        ([{"id": "d1"}], "the list 'documents' is missing; it is list"),
        (
            {"documents": [{"id": "d1"}, {"text": "…", "score": 1}]},
            r"documents\[1\] has no 'id' or 'document_id'; it has 'text', 'score'",
        ),
        ({"documents": ["d1"]}, r"documents\[0\] has no 'id' or 'document_id'; it is str"),
        ("<html>", "it is not JSON"),
    ],
)
async def test_an_answer_of_another_shape_is_named_and_not_kept(
    other: Other, tmp_path: Path, body: Any, sentence: str
) -> None:
    other.body = body
    system = against(other.url, tmp_path)
    with pytest.raises(StoreMisconfigured, match=sentence):
        await system.answer("Who?")
    await system.aclose()
    assert not (tmp_path / "against").exists()


@pytest.mark.parametrize("status", [307, 404, 500])
async def test_a_status_that_is_no_success_is_said_and_no_redirect_is_followed(
    other: Other, tmp_path: Path, status: int
) -> None:
    other.status = status
    system = against(other.url, tmp_path)
    with pytest.raises(StoreUnavailable, match=f"answered with status {status}"):
        await system.answer("Who?")
    await system.aclose()


async def test_nobody_there_is_said(tmp_path: Path) -> None:
    with listening() as gone:
        url = gone.url
    system = against(url, tmp_path)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        await system.answer("Who?")
    await system.aclose()


async def test_requests_keep_their_distance_and_what_is_remembered_waits_for_nothing(
    other: Other, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("clew.evaluation.against.sleep", sleep)
    system = against(other.url, tmp_path, rate=0.001)
    for question in ("a", "b", "a", "b"):
        await system.answer(question)
    await system.aclose()
    first, second = waited
    assert first < 0
    assert 0 < second <= 1000


@pytest.mark.parametrize(
    "url",
    [
        "https://search.example/ask",
        "http://10.0.0.1/ask",
        "http://127.0.0.1@search.example/ask",
        "http://127.0.0.1.search.example/ask",
        "http://localhost.example/ask",
    ],
)
def test_local_only_refuses_every_other_machine(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidInput, match="--local-only sends nothing to"):
        against(url, tmp_path)


@pytest.mark.parametrize(
    "url", ["http://localhost/a", "http://127.8.0.1:90/a", "http://[::1]:8000/a"]
)
async def test_local_only_allows_this_machine(tmp_path: Path, url: str) -> None:
    await against(url, tmp_path).aclose()


async def test_what_is_meant_for_this_machine_goes_past_every_proxy(
    other: Other, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    system = against(other.url, tmp_path)
    assert (await system.answer("Who?")).ranked == ["d2", "d1"]
    await system.aclose()


@pytest.mark.parametrize("url", ["search.example", "ftp://x/y", "http://", "http://[::1"])
def test_what_is_no_url_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidInput, match="is not a URL"):
        against(url, tmp_path)
