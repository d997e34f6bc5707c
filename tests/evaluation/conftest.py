"""A small dataset, and `clew` to evaluate it with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from clew.tests.graph.scene import WORLD
from clew.tests.serving.conftest import clew, here

__all__ = ["clew", "here"]

QUESTIONS = [
    {"id": "q1", "question": "Whom did Katherine Mansfield marry?", "gold": ["d1", "d2"]},
    {"id": "q2", "question": "Where did Virginia Woolf found a press?", "gold": ["d3"]},
    {"id": "q3", "question": "With whom did Zorblax Quibble tour?", "gold": ["d5"]},
    {"id": "q4", "question": "Which journal did Murry edit?", "gold": ["d2"]},
]
CORPUS = [{**page, "id": f"d{number}"} for number, page in enumerate(WORLD, start=1)]


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """The folder of five pages and four questions."""
    folder = tmp_path / "pages"
    folder.mkdir()
    write_rows(folder / "corpus.jsonl", CORPUS)
    write_rows(folder / "queries.jsonl", QUESTIONS)
    return folder
