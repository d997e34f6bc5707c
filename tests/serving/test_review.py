"""`clew review`, run as people run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import CORPUS, Command


@pytest.fixture
def page(tmp_path: Path) -> str:
    """A document with two doubtful names: Zorblax, and a nationality."""
    path = tmp_path / "page.txt"
    path.write_text("Zorblax toured with a Dutch band [1].\n")
    return str(path)


def test_doubtful_names_are_shown_without_a_database_or_an_encoder(here: Command) -> None:
    nothing = {
        "CLEW_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
        "CLEW_EMBEDDING_MODEL": "/no/such/model",
    }
    done = here("review", str(CORPUS), "--limit", "2", **nothing)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "0.50" in line]
    assert [line.split()[1] for line in lines] == ["American", "British"]
    assert "2 of " in done.stdout
    assert "documents read: 300" in done.stdout
    assert "300/300" in done.stderr

    report = json.loads(here("review", str(CORPUS), "--limit", "3", "--json", **nothing).stdout)
    assert len(report["names"]) == 3 < report["doubtful"]
    assert report["names"][0]["documents"] > report["names"][1]["documents"]


def test_decisions_are_kept_and_said_until_nothing_is_left(
    here: Command, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for a path that fits on a line
    first = here("review", page, "--accept", "Dutch=Nationality", "--into", "curated.yaml")
    assert first.returncode == 0, first.stderr
    assert "Accepted: Dutch (Nationality)." in first.stdout
    said = " ".join(first.stdout.split())
    assert "set CLEW_CURATED_ENTITIES=curated.yaml, and the next `clew ingest` reads" in said
    assert "1 of 1 doubtful names" in first.stdout

    listed = {"CLEW_CURATED_ENTITIES": str(tmp_path / "curated.yaml")}
    again = here("review", page, "--accept", "Dutch", "--accept", "Quibble", **listed)
    assert "Accepted: Quibble (Name)." in again.stdout
    said = " ".join(again.stdout.split())
    assert "Listed already: Dutch." in said
    assert "Not among the doubtful names of these documents: Dutch, Quibble." in said
    assert "has changed: the next `clew ingest` reads documents again." in said

    last = here("review", page, "--reject", "Zorblax", "--json", **listed)
    report = json.loads(last.stdout)
    assert (report["rejected"], report["names"], report["doubtful"]) == (["Zorblax"], [], 0)
    empty = here("review", page, **listed)
    assert empty.stdout == "No doubtful name is left; documents read: 1.\n"


def test_an_accepted_name_is_an_entity_after_the_next_ingestion(
    clew: Command, page: str, tmp_path: Path
) -> None:
    listed = {"CLEW_CURATED_ENTITIES": str(tmp_path / "curated.yaml")}
    assert clew("ingest", page, "-n", "x").returncode == 0
    question = ("ask", "Zorblax?", "-n", "x", "--json", "-s", "budget_ms=20000")
    before = json.loads(clew(*question).stdout)
    assert "Zorblax" not in [one["name"] for one in before["entities"]]
    clew("review", page, "--accept", "Zorblax=Band", "--into", listed["CLEW_CURATED_ENTITIES"])
    report = json.loads(clew("ingest", page, "-n", "x", "--json", **listed).stdout)
    assert report["replaced"] == 1
    after = json.loads(clew(*question, **listed).stdout)
    assert ("Zorblax", "Band") in [(one["name"], one["type"]) for one in after["entities"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no/such.md"], "no/such.md does not exist."),
        (["PAGE", "--accept", "Dutch"], "There is no list to keep this in; give --into FILE"),
        (["PAGE", "--reject", "Dutch"], "There is no list to keep this in; give --into FILE"),
        (["PAGE", "--accept", "=", "--into", "LIST"], "'=' cannot be accepted"),
        (["PAGE", "--accept", "Dutch", "--into", "BROKEN"], "broken.yaml cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_2(
    here: Command, page: str, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    (tmp_path / "broken.yaml").write_text("- {name: oops\n")
    places = {
        "PAGE": page,
        "LIST": str(tmp_path / "new.yaml"),
        "BROKEN": str(tmp_path / "broken.yaml"),
    }
    done = here("review", *(places.get(one, one) for one in arguments))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "new.yaml").exists()
