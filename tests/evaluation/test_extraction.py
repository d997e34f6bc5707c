"""What offline extraction finds is counted against a recorded graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from clew.evaluation.extraction import kind_of, load_passages, measure_extraction
from clew.models.recognizer import CuratedEntity, Recognizer
from clew.serving.cli.extraction import extraction
from clew.stores.errors import InvalidInput

CORPUS = [
    {"id": "a", "title": "Zoe Lund", "text": "Zoe Lund met Ann Berg of Bath in May 1901."},
    {"id": "b", "title": "Iron Gate", "text": "Iron Gate is old. They saw Bob Hall there."},
    {"id": "c", "title": "Unlisted", "text": "Nobody asked."},
]
GRAPH = [
    {"passage_id": "b", "entities": ["The Iron Gate", "Robert Hall"], "triples": []},
    {
        "passage_id": "a",
        "entities": ["Zoe Lund", "Berg", "May 1901", "old spa", "12 cats"],
        "triples": [
            ["Zoe Lund", "met", "Ann Berg"],
            ["Zoe Lund", "met", "Nobody Else"],
            ["Zoe Lund", "died in", "May 1901"],
        ],
    },
]


def dataset(folder: Path, corpus: Any = CORPUS, graph: Any = GRAPH) -> Path:
    for name, rows in (("corpus", corpus), ("kg", graph)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


async def measured(folder: Path, *curated: CuratedEntity) -> dict[str, Any]:
    return await measure_extraction(load_passages(folder), Recognizer(curated))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("1963", "date"),
        ("January 1960", "date"),
        ("24 March 1603", "date"),
        ("1940s", "date"),
        ("19th century", "date"),
        ("early 19th century", "date"),
        ("May", "date"),
        ("18", "number"),
        ("39 miles", "number"),
        ("1.355", "number"),
        ("managing small companies", "common noun"),
        ("April Smith", "name"),
        ("2018 Winter Olympics", "name"),
        ("iPhone", "name"),
        ("9 Songs", "name"),
        ("of the", "common noun"),
    ],
)
def test_a_name_holds_a_capital_letter_and_is_no_date(name: str, kind: str) -> None:
    assert kind_of(name) == kind


async def test_recall_is_counted_by_kind_exactly_and_partly(tmp_path: Path) -> None:
    recall = (await measured(dataset(tmp_path)))["recall"]
    names = recall["name"]
    assert (names["count"], names["exact"], names["partial"]) == (4, 0.5, 0.75)
    assert (names["macro exact"], names["macro partial"]) == (0.5, 0.75)
    assert names["examples"] == ["Robert Hall"]
    assert [recall[kind]["count"] for kind in ("all", "date", "number", "common noun")] == [
        7, 1, 1, 1
    ]  # fmt: skip


async def test_macro_is_the_mean_over_passages(tmp_path: Path) -> None:
    graph = [
        {"passage_id": "a", "entities": ["Zoe Lund"], "triples": []},
        {"passage_id": "b", "entities": ["Nine Elms", "Ten Elms", "Six Elms"], "triples": []},
    ]
    names = (await measured(dataset(tmp_path, graph=graph)))["recall"]["name"]
    assert (names["exact"], names["macro exact"]) == (0.25, 0.5)


async def test_precision_judges_what_is_found(tmp_path: Path) -> None:
    names = (await measured(dataset(tmp_path)))["precision"]["name"]
    assert names["count"] == 4  # Zoe Lund, Ann Berg of Bath, Iron Gate, Bob Hall
    assert (names["exact"], names["partial"]) == (0.5, 0.75)
    assert names["examples"] == ["Bob Hall"]


async def test_triples_count_whose_ends_are_found_and_related(tmp_path: Path) -> None:
    triples = (await measured(dataset(tmp_path)))["triples"]
    assert triples["between names"] == {"count": 2, "found": 0.5, "related": 0.5}
    assert triples["all"]["count"] == 3


async def test_an_alias_is_a_spelling_of_its_entity(tmp_path: Path) -> None:
    bob = CuratedEntity(name="Bob Hall", type="Person", aliases=["Robert Hall"])
    assert (await measured(dataset(tmp_path), bob))["recall"]["name"]["examples"] == []


@pytest.mark.parametrize(
    ("corpus", "graph", "reason"),
    [
        (CORPUS, [{"passage_id": "z", "entities": [], "triples": []}], "line 1: .* no passage 'z'"),
        (CORPUS, [], "is empty"),
        (CORPUS, ["{oops"], r"kg\.jsonl, line 1: .*mend"),
        (CORPUS, [{"passage_id": "a", "entities": []}], r"kg\.jsonl, line 1"),
        ([{"id": "a"}], GRAPH, r"corpus\.jsonl, line 1"),
    ],
)
def test_a_broken_dataset_is_refused(tmp_path: Path, corpus: Any, graph: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=f"(?s){reason}"):
        load_passages(dataset(tmp_path, corpus, graph))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl does not exist"):
        load_passages(tmp_path)


def test_the_command_prints_tables_or_json(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(extraction)
    folder = str(dataset(tmp_path))
    printed = CliRunner().invoke(app, [folder])
    assert printed.exit_code == 0, printed.output
    assert "Most often missed (name): Robert Hall" in printed.output
    said = CliRunner().invoke(app, [folder, "--json", "--limit", "1"])
    report = json.loads(said.stdout)
    assert (report["passages"], report["recall"]["name"]["count"]) == (1, 2)
