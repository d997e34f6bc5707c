"""A dataset is whole, or one sentence says what to mend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.evaluation.datasets import load_dataset
from clew.stores.errors import InvalidInput

from .conftest import QUESTIONS, write_rows

ASKED: dict[str, Any] = QUESTIONS[0]


def test_questions_come_in_their_order_and_a_limit_takes_the_first(dataset: Path) -> None:
    whole = load_dataset(dataset)
    assert whole.name == "pages"
    assert [asked.id for asked in whole.questions] == ["q1", "q2", "q3", "q4"]
    assert whole.documents == {"d1", "d2", "d3", "d4", "d5"}
    assert [asked.id for asked in load_dataset(dataset, 2).questions] == ["q1", "q2"]


def test_lines_end_where_json_lines_do_and_white_space_around_a_question_goes(
    dataset: Path,
) -> None:
    """U+2028 is a line end to Python, but not in JSON."""
    write_rows(dataset / "queries.jsonl", [{**ASKED, "question": "  Who\u2028else? "}])
    assert load_dataset(dataset).questions[0].question == "Who\u2028else?"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([ASKED, {**ASKED, "question": "Who?"}], "line 2: the id 'q1' stands there for a second"),
        ([{**ASKED, "gold": ["d1", "d9"]}], "line 1: gold 'd9' is not in corpus.jsonl"),
        ([{**ASKED, "gold": []}], "line 1: gold: list should have at least 1 item"),
        ([{**ASKED, "question": " "}], "line 1: question: string should have at least 1"),
        ([{"id": "q", "gold": ["d1"]}], "line 1: question: field required"),
        ([], "is empty"),
    ],
)
def test_a_question_that_cannot_be_measured_is_named(
    dataset: Path, rows: list[dict[str, Any]], sentence: str
) -> None:
    write_rows(dataset / "queries.jsonl", rows)
    with pytest.raises(InvalidInput, match=sentence):
        load_dataset(dataset)


def test_what_is_no_json_is_named_by_its_line(dataset: Path) -> None:
    with (dataset / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "d6", "text":\n')
    with pytest.raises(InvalidInput, match=r"line 6: it is not JSON"):
        load_dataset(dataset)


def test_a_missing_file_is_named(dataset: Path) -> None:
    (dataset / "queries.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"has no queries\.jsonl"):
        load_dataset(dataset)
