"""The command line, run as people run it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from clew.serving.cli.options import context_from
from clew.stores.errors import StoreUnavailable
from clew.stores.postgres.chunks import PostgresChunkStore
from clew.stores.postgres.entities import PostgresEntityStore

from .conftest import CORPUS, Command, run_clew

LOU = "Where was the wife of Lou Breslow born?"


def test_help_answers_in_under_half_a_second() -> None:
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        done = run_clew("--help", environment={})
        times.append(time.perf_counter() - begun)
        assert done.returncode == 0
    assert "ingest" in done.stdout
    assert min(times) < 0.5


def test_a_corpus_goes_in_once_and_a_two_hop_question_finds_both_passages(clew: Command) -> None:
    first = clew("ingest", str(CORPUS), "-n", "demo", "--json")
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["written"] == 300
    again = json.loads(clew("ingest", str(CORPUS), "-n", "demo", "--json").stdout)
    assert (again["written"], again["replaced"], again["unchanged"]) == (0, 0, 300)

    asked = clew("ask", LOU, "-n", "demo", "--json", "--top-k", "5", "-s", "budget_ms=20000")
    assert asked.returncode == 0, asked.stderr
    output = json.loads(asked.stdout)
    assert [d["metadata"]["document_id"] for d in output["documents"]][:2] == ["p2763", "p2762"]
    assert set(output) == {
        "context",
        "documents",
        "entities",
        "relationships",
        "degraded",
        "diagnostics",
    }
    second = output["documents"][1]["metadata"]
    assert second["title"] == "Marion Byron"
    assert second["trail"]["links"][0]["title"] == "Lou Breslow"

    traced = clew("trace", LOU, "-n", "demo", "-s", "budget_ms=20000").stdout
    assert "Lou Breslow (exact" in traced
    assert "seeds → expand_graph" in traced
    assert "Lou Breslow through Marion Byron" in traced

    why = clew("ask", LOU, "-n", "demo", "--why", "2", "-s", "budget_ms=20000").stdout
    assert "[1] Lou Breslow through Marion Byron (titled" in why
    beyond = clew("ask", LOU, "-n", "demo", "--why", "99")
    assert beyond.returncode == 2
    assert beyond.stderr == "clew: --why 99 names no passage; the answer has 10.\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ask", "", "-n", "x"], "The question is empty; ask something."),
        (["ask", "?" * 100_000, "-n", "x"], "The question has 100,000 characters; the most is"),
        (["ask", "Who?", "-n", "nowhere"], "There is no namespace 'nowhere'; ingest into it first"),
        (
            ["ask", "Who?", "--hops", "4"],
            "graph_expansion_hops: Input should be less than or equal",
        ),
        (["ask", "Who?", "--hops", "0"], "graph_expansion_hops: Input should be greater than or"),
        (["ask", "Who?", "-s", "hopps=2"], "hopps: Extra inputs are not permitted"),
        (["ask", "Who?", "-s", "hops"], "--set 'hops' has no '='; write NAME=VALUE."),
        (["ask", "Who?", "-s", "extraction=llm"], "extraction=llm needs a chat model; set CLEW_"),
        (["ingest", "no/such/file.md"], "no/such/file.md"),
        (["delete", "nothing", "-n", "x"], "Deleted 0 of 1; the others do not exist."),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_2(
    clew: Command, arguments: list[str], sentence: str
) -> None:
    done = clew(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 or arguments[0] == "ingest"
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.md", b"", "empty"),
        ("binary.txt", b"\x89PNG\r\n\x00\x01\xff\xfe", "binary.txt"),
        ("broken.jsonl", b'{"id":"a","text":"fine"}\n{"id":"b","text":\n', "line 2"),
        ("typed.jsonl", b'{"id":"a","text":7}\n', "line 1"),
        ("table.xlsx", b"x", "table.xlsx"),
    ],
)
def test_bad_files_are_refused_before_anything_is_written(
    clew: Command, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    (tmp_path / "good.md").write_text("# Good\n\nAda Lovelace met Charles Babbage.")
    (tmp_path / name).write_bytes(content)
    done = clew("ingest", str(tmp_path / "good.md"), str(tmp_path / name), "-n", "x")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert clew("ask", "Who?", "-n", "x").returncode == 2, "the good file must not have landed"


def test_a_database_that_is_down_is_said_in_one_sentence(here: Command) -> None:
    url = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"
    done = here("ask", "Who?", CLEW_DATABASE_URL=url)
    assert done.returncode == 1
    assert "The database does not answer" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unprepared_database_says_what_to_run_and_doctor_agrees(
    here: Command, empty_dsn: str
) -> None:
    done = here("ask", "Who?", CLEW_DATABASE_URL=empty_dsn)
    assert done.returncode == 1
    assert done.stderr == "clew: The database has no Clew tables yet; run `clew migrate`.\n"
    sick = here("doctor", CLEW_DATABASE_URL=empty_dsn)
    assert sick.returncode == 1
    assert "run `clew migrate`" in sick.stdout
    assert here("migrate", CLEW_DATABASE_URL=empty_dsn).returncode == 0
    assert "up to date" in here("migrate", CLEW_DATABASE_URL=empty_dsn).stdout
    assert here("doctor", CLEW_DATABASE_URL=empty_dsn).returncode == 0


def test_a_model_that_is_not_there_is_said_in_one_sentence(clew: Command) -> None:
    done = clew("ask", "Who?", CLEW_EMBEDDING_MODEL="/no/such/model")
    assert done.returncode == 1
    assert "The embedding model '/no/such/model' cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_setting_names_the_variable(clew: Command) -> None:
    done = clew("ask", "Who?", CLEW_POOL_SIZE="none")
    assert done.returncode == 2
    assert "CLEW_POOL_SIZE" in done.stderr


def test_a_run_without_a_source_traces_what_it_went_without_and_ends_in_one_sentence(
    clew: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ada.md").write_text("# Ada Lovelace\n\nShe met Charles Babbage.")
    assert clew("ingest", str(tmp_path), "-n", "x").returncode == 0

    async def nobody(*_: object, **__: object) -> None:
        raise StoreUnavailable("Nobody answers.")

    monkeypatch.setattr(PostgresChunkStore, "search_text", nobody)
    monkeypatch.setattr(PostgresEntityStore, "find_exact", nobody)
    done = clew("trace", "Ada Lovelace?", "-n", "x", "-s", "budget_ms=20000")
    assert done.returncode == 1
    for step in ("search_passages", "link_entities"):
        [line] = [line for line in done.stdout.splitlines() if line.startswith(step)]
        assert "Nobody answers." in line
    assert done.stderr.startswith("clew: Neither the search nor the graph could be asked")


def test_the_picture_of_each_graph_is_printed(here: Command) -> None:
    for name, node in (("retrieval", "link_passages"), ("ingestion", "detect_relationships")):
        done = here("graph", name)
        assert done.returncode == 0
        assert node in done.stdout


@pytest.mark.parametrize("words", ["off", "no_seeds", "sparse"])
def test_a_setting_that_is_spelled_like_a_switch_is_taken_as_it_is(words: str) -> None:
    assert context_from([f"synonyms={words}"]).synonyms == words
    assert context_from(["two_tier=on", "caches=off"]).two_tier
