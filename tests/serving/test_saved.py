"""A run is kept with what the model said, and repeated without it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.tests.graph.scene import WORLD
from clew.tests.models.chat_server import (
    QUESTION,
    SYNONYMS,
    ChatServer,
    Reply,
    chat_server,
    synonyms,
    understood,
)
from clew.tests.models.cross_encoder import save_cross_encoder

from .conftest import Command

ASKED = "Whom did she marry, the writer born in Wellington?"
PATIENT = tuple(
    f"-s{name}=60000" for name in ("budget_ms", "llm_ms", "graph_ms", "search_ms", "rerank_ms")
)


@pytest.fixture
def llm() -> Iterator[ChatServer]:
    with chat_server() as started:
        started.says(QUESTION, understood("Katherine Mansfield"))
        started.says(SYNONYMS, synonyms(Katherine_Mansfield=["Kathleen Mansfield", "volcano"]))
        yield started


@pytest.fixture
def world(clew: Command, tmp_path: Path) -> Path:
    """A namespace with the small world in it; returns its source."""
    source = tmp_path / "world.jsonl"
    source.write_text("\n".join(map(json.dumps, WORLD)), encoding="utf-8")
    done = clew("ingest", str(source), "-n", "world", "--json")
    assert done.returncode == 0, done.stderr
    return source


def environment(llm: ChatServer, folder: Path, **more: str) -> dict[str, str]:
    return {
        "CLEW_CHAT_MODEL": "openai:scripted",
        "CLEW_CHAT_PRICES": '{"openai:scripted": {"input": 1000, "output": 2000}}',
        "CLEW_DATA_DIR": str(folder),
        "OPENAI_BASE_URL": llm.url,
        "OPENAI_API_KEY": "not-a-key",
        "NO_PROXY": "127.0.0.1",
        **more,
    }


def saved_id(said: str) -> str:
    found = re.search(r"--replay (\S+)", said)
    assert found, said
    return found[1]


def test_a_saved_run_is_repeated_exactly_without_the_provider(
    clew: Command, world: Path, llm: ChatServer, tmp_path: Path
) -> None:
    settings = environment(llm, tmp_path)
    first = clew("trace", ASKED, "-n", "world", "--as", "ann", *PATIENT, "--save", **settings)
    assert first.returncode == 0, first.stderr
    assert "Kathleen Mansfield  cosine" in first.stdout
    assert "volcano  cosine" in first.stdout
    assert "rejected: drifted" in first.stdout
    assert re.search(r"2 calls of a language model, \d+ \+ \d+ tokens, \$0\.00", first.stdout)
    name = saved_id(first.stdout)
    path = tmp_path / "runs" / f"{name}.json"
    assert path.stat().st_mode & 0o077 == 0, "questions are nobody else's business"
    run = json.loads(path.read_text("utf-8"))
    assert (run["principals"], run["model"]) == (["ann"], "openai:scripted")
    assert [call["prompt"] for call in run["calls"]] == ["understand_question", "synonyms"]
    assert list(run["supersteps"][0]) == ["admit"]
    assert run["supersteps"][-1]["build_context"]["documents"][0]["type"] == "Document"
    asked = len(llm.requests)
    llm.close()

    for how in (name, str(path)):
        again = clew("trace", "--replay", how, CLEW_DATA_DIR=str(tmp_path))
        assert again.returncode == 0, again.stderr
        assert "It came to the same passages and scores." in again.stdout
        assert "Kathleen Mansfield  cosine" in again.stdout
    looped = clew("trace", "--from", "rerank_entities", "--run", name, CLEW_DATA_DIR=str(tmp_path))
    assert looped.returncode == 0, looped.stderr
    assert "link_entities" not in looped.stdout, "it ran twice before, and is not run again"
    assert "2 calls of a language model" in looped.stdout, "those made before"
    assert "It came to the same passages and scores." in looped.stdout
    assert len(llm.requests) == asked


def test_a_model_that_failed_fails_again(
    clew: Command, world: Path, llm: ChatServer, tmp_path: Path
) -> None:
    llm.says(QUESTION, Reply(status=500))
    settings = environment(llm, tmp_path)
    first = clew("trace", ASKED, "-n", "world", *PATIENT, "--save", **settings)
    reason = "The chat model openai:scripted gave no usable answer"
    assert reason in " ".join(first.stdout.split())
    again = clew("trace", "--replay", saved_id(first.stdout), CLEW_DATA_DIR=str(tmp_path))
    assert reason in " ".join(again.stdout.split())
    assert "It came to the same passages and scores." in again.stdout


def test_the_cross_encoders_reading_is_repeated_without_it(
    clew: Command, world: Path, tmp_path: Path
) -> None:
    model = tmp_path / "cross-encoder"
    model.mkdir()
    save_cross_encoder(model)
    settings = {"CLEW_DATA_DIR": str(tmp_path), "CLEW_RERANKER_MODEL": str(model)}
    first = clew("trace", ASKED, "-n", "world", *PATIENT, "--save", **settings)
    assert first.returncode == 0, first.stderr
    name = saved_id(first.stdout)
    run = json.loads((tmp_path / "runs" / f"{name}.json").read_text("utf-8"))
    assert len(run["reading"]["scores"]) == len(run["returned"]) > 1
    again = clew("trace", "--replay", name, CLEW_DATA_DIR=str(tmp_path))
    assert again.returncode == 0, again.stderr
    assert "It came to the same passages and scores." in again.stdout
    assert clew("delete", "quibble.md", "-n", "world").returncode == 0
    other = clew("trace", "--replay", name, CLEW_DATA_DIR=str(tmp_path))
    assert other.returncode == 2
    assert "cross-encoder read other passages" in other.stderr


def test_what_has_changed_since_is_said(
    clew: Command, world: Path, llm: ChatServer, tmp_path: Path
) -> None:
    settings = environment(llm, tmp_path)
    first = clew("trace", ASKED, "-n", "world", *PATIENT, "--save", **settings)
    name = saved_id(first.stdout)
    assert clew("delete", "quibble.md", "-n", "world").returncode == 0
    again = clew("trace", "--replay", name, CLEW_DATA_DIR=str(tmp_path))
    assert again.returncode == 0, again.stderr
    said = " ".join(again.stdout.split())
    assert "The namespace 'world' has changed since: it was at version" in said
    assert "It returned other passages, or in another order." in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--replay", "nobody"], "There is no saved run 'nobody'"),
        (["--replay", "{broken}"], "is not a run that this version of Clew saved"),
        (["Who?", "--replay", "{broken}"], "--replay repeats a run as it was saved"),
        ([], "The question is empty; ask something."),
    ],
)
def test_what_cannot_be_repeated_is_said_in_a_sentence(
    clew: Command, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"id": 1}', encoding="utf-8")
    given: list[Any] = [argument.format(broken=broken) for argument in arguments]
    done = clew("trace", *given, CLEW_DATA_DIR=str(tmp_path))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
