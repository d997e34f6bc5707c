"""What is ingested instead of the corpus: without titles, or with the graph that came with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.evaluation.corpora import Form, corpus, namespace
from clew.evaluation.datasets import load_dataset
from clew.graph import ingestion
from clew.services import Services
from clew.stores.errors import InvalidInput
from clew.tests.graph.landed import content

from .conftest import CORPUS, write_rows

GIVEN: list[dict[str, Any]] = [
    {"passage_id": "d3", "entities": ["Hogarth Press"], "triples": [["Woolf", "founded", "it"]]},
    {"passage_id": "d1", "entities": ["Prelude"], "triples": []},
]
UNWRITTEN = [
    {"id": "p12", "title": "Katherine Mansfield", "text": "She was a writer born in Wellington."},
    {"id": "p13", "title": "Virginia Woolf", "text": "A novelist who lived in Richmond."},
]
"""Pages whose text does not say their title."""


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def landed(services: Services, dsn: str, path: Path) -> dict[str, list[Any]]:
    async def ready() -> Services:
        return services

    await ingestion.build(ready).compile().ainvoke({"paths": [str(path)], "namespace": "x"})
    return content(dsn)


def test_the_corpus_itself_is_ingested_unless_something_is_to_change(dataset: Path) -> None:
    data = load_dataset(dataset)
    with corpus(data, Form(True, "own")) as path:
        assert path == dataset / "corpus.jsonl"
    assert namespace(data, Form(True, "own")) == "eval-pages"
    assert namespace(data, Form(False, "own")) == "eval-pages-untitled"
    assert namespace(data, Form(True, "given")) == "eval-pages-given"
    assert namespace(data, Form(False, "given")) == "eval-pages-untitled-given"


def test_a_derived_corpus_keeps_all_but_the_title_and_is_removed_afterwards(dataset: Path) -> None:
    write_rows(dataset / "corpus.jsonl", [{**page, "category": "person"} for page in CORPUS])
    with corpus(load_dataset(dataset), Form(False, "own")) as path:
        assert rows(path) == [
            {"id": page["id"], "text": page["text"], "category": "person"} for page in CORPUS
        ]
    assert not path.parent.exists()


async def test_no_hidden_title_is_left_in_what_lands(
    dataset: Path, services: Services, dsn: str
) -> None:
    """The same pages land with their titles in the header, the terms and the entities otherwise."""
    write_rows(dataset / "corpus.jsonl", UNWRITTEN)
    write_rows(dataset / "queries.jsonl", [{"id": "q", "question": "Who?", "gold": ["p12"]}])
    with corpus(load_dataset(dataset), Form(False, "own")) as path:
        found = await landed(services, dsn, path)
    everything = repr(found).lower()
    assert "mansfield" not in everything
    assert "woolf" not in everything
    assert [(key, title) for key, title, *_ in found["documents"]] == [
        ("p12", "p12"),
        ("p13", "p13"),
    ]
    assert {header for _, _, _, header, *_ in found["chunks"]} == {"p12", "p13"}
    assert {norm for norm, *_ in found["entities"]} == {"wellington", "richmond"}
    assert not any(mention[6] for mention in found["mentions"]), "nothing is a page's subject"


async def test_titles_that_are_not_hidden_do_land(
    dataset: Path, services: Services, dsn: str
) -> None:
    write_rows(dataset / "corpus.jsonl", UNWRITTEN)
    found = await landed(services, dsn, dataset / "corpus.jsonl")
    assert {norm for norm, *_ in found["entities"]} >= {"katherine mansfield", "virginia woolf"}


@pytest.mark.parametrize("key", ["P12", "katherine-mansfield", "page_katherine_mansfield_1"])
def test_an_id_that_would_tell_the_title_is_refused(dataset: Path, key: str) -> None:
    write_rows(dataset / "corpus.jsonl", [{**UNWRITTEN[0], "id": key}])
    write_rows(dataset / "queries.jsonl", [{"id": "q", "question": "Who?", "gold": [key]}])
    data = load_dataset(dataset)
    with (
        pytest.raises(InvalidInput, match=f"line 1: the id '{key}' would stand where"),
        corpus(data, Form(False, "own")),
    ):
        pass


def test_each_passage_gets_its_own_graph_and_one_without_gets_none(dataset: Path) -> None:
    write_rows(dataset / "kg.jsonl", GIVEN)
    with corpus(load_dataset(dataset), Form(True, "given")) as path:
        joined = rows(path)
    nothing: dict[str, list[Any]] = {"entities": [], "triples": []}
    assert [row["id"] for row in joined] == [page["id"] for page in CORPUS]
    assert [row["title"] for row in joined] == [page["title"] for page in CORPUS]
    assert [row["graph"] for row in joined] == [
        {"entities": ["Prelude"], "triples": []},
        nothing,
        {"entities": ["Hogarth Press"], "triples": [["Woolf", "founded", "it"]]},
        nothing,
        nothing,
    ]


def test_a_given_graph_and_hidden_titles_go_together(dataset: Path) -> None:
    write_rows(dataset / "kg.jsonl", GIVEN)
    with corpus(load_dataset(dataset), Form(False, "given")) as path:
        assert {tuple(sorted(row)) for row in rows(path)} == {("graph", "id", "text")}


async def test_the_given_graph_is_what_lands(dataset: Path, services: Services, dsn: str) -> None:
    write_rows(dataset / "kg.jsonl", [{**GIVEN[0], "triples": [["Virginia", "founded", "Press"]]}])
    with corpus(load_dataset(dataset), Form(False, "given")) as path:
        found = await landed(services, dsn, path)
    assert {norm for norm, *_ in found["entities"]} == {"hogarth press", "virginia", "press"}
    assert ("virginia", "press", "FOUNDED") in {edge[:3] for edge in found["relationships"]}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([{**GIVEN[0], "passage_id": "d9"}], "line 1: passage_id 'd9' is not in corpus.jsonl"),
        ([GIVEN[0], GIVEN[0]], "line 2: passage_id 'd3' stands there for a second time"),
        ([{**GIVEN[0], "triples": [["a", "b"]]}], "line 1: triples.0.2: field required"),
        (None, "has no kg.jsonl"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(
    dataset: Path, given: list[dict[str, Any]] | None, sentence: str
) -> None:
    if given is not None:
        write_rows(dataset / "kg.jsonl", given)
    data = load_dataset(dataset)
    with pytest.raises(InvalidInput, match=sentence), corpus(data, Form(True, "given")):
        pass
