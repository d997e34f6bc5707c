"""`clew discover` and `clew.discover`: the connections of a text, from a file or a pipe."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from clew.context import RetrievalContext
from clew.serving import asking
from clew.stores.errors import InvalidInput

from .conftest import Command

STORY = "Ada Quill mended the chronometer of Bertram Hollis on the rock of Skerryvore."
PAGES = {
    "silas.md": "# Silas Quill\n\nSilas Quill was the brother of Ada Quill and sailed from Riga.",
    "bread.md": "# Bread\n\nA baker kneads dough with flour and yeast.",
}
PATIENT = ("-s", "budget_ms=60000", "-s", "search_ms=30000", "-s", "graph_ms=30000")


@pytest.fixture
def told(clew: Command, tmp_path: Path) -> Command:
    """`clew` with the story and two other pages taken in."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, text in {**PAGES, "story.md": STORY}.items():
        (folder / name).write_text(text)
    assert clew("ingest", str(folder), "-n", "x").returncode == 0
    return clew


def test_a_file_a_pipe_and_a_stored_document_lead_to_the_same_connections(
    told: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = tmp_path / "draft.txt"
    draft.write_text(STORY)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(STORY.encode())))
    for source in ([str(draft)], ["-"], ["--document", "story.md"]):
        done = told("discover", *source, "-n", "x", "--json", *PATIENT)
        assert done.returncode == 0, done.stderr
        output = json.loads(done.stdout)
        assert output["degraded"] == []
        found = [document["metadata"]["document_id"] for document in output["documents"]]
        assert found[0] == "silas.md"
        assert "story.md" not in found


def test_people_see_passages_threads_and_the_map_and_a_chat_model_its_block(
    told: Command, tmp_path: Path
) -> None:
    draft = tmp_path / "draft.txt"
    draft.write_text(STORY)
    shown = told("discover", str(draft), "-n", "x", *PATIENT).stdout
    assert "1. Silas Quill" in shown
    assert "Ada Quill" in shown
    block = told("discover", str(draft), "-n", "x", "--context", *PATIENT).stdout
    assert "brother of Ada Quill" in block
    assert "mended the chronometer" not in block


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name a text file (- for standard input), or a --document; one of both."),
        (["full.txt", "--document", "a"], "Name a text file (- for standard input), or a"),
        (["none.txt"], "none.txt cannot be read: No such file or directory; name a text file."),
        (["."], ". cannot be read: Is a directory; name a text file."),
        (["empty.txt"], "empty.txt cannot be read: it is empty; name a text file."),
        (["binary.txt"], "binary.txt cannot be read: it is binary"),
        (["long.txt", "-n", "x"], "The passage has 50,001 characters; the most is 50,000."),
        (["--document", "none", "-n", "x"], "There is no document 'none' in these namespaces"),
        (["full.txt", "-n", "nowhere"], "There is no namespace 'nowhere'"),
    ],
)
def test_what_cannot_be_discovered_is_one_sentence_and_exit_2(
    told: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    (tmp_path / "full.txt").write_text(STORY)
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "binary.txt").write_bytes(b"\x00\x01")
    (tmp_path / "long.txt").write_text("a" * 50_001)
    monkeypatch.chdir(tmp_path)
    done = told("discover", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


async def test_from_python_a_text_or_a_document_must_be_given() -> None:
    with pytest.raises(InvalidInput, match="give a passage or a document_id"):
        await asking.discover(" ", context=RetrievalContext())
