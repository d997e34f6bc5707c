"""Corpora derived from a dataset's: without titles, or with the graph that comes with it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel

from ..models.names import fold
from .datasets import CORPUS, CorpusRow, Dataset, Line, read_rows

__all__ = ["Form", "GraphSource", "corpus", "namespace"]

GRAPH = "kg.jsonl"
GraphSource: TypeAlias = Literal["own", "given"]
Change = Callable[[Line, dict[str, Any]], None]


class GraphRow(BaseModel):
    """The entities and triples of one passage."""

    passage_id: str
    entities: list[str]
    triples: list[tuple[str, str, str]]


class Form(NamedTuple):
    """Whether documents keep their titles, and where their entities and relations come from."""

    titles: bool = True
    graph: GraphSource = "own"


def namespace(dataset: Dataset, form: Form) -> str:
    """The namespace of this form of the corpus: each has its own."""
    untitled = "" if form.titles else "-untitled"
    return f"eval-{dataset.name}{untitled}{'-given' if form.graph == 'given' else ''}"


@contextmanager
def corpus(dataset: Dataset, form: Form) -> Iterator[Path]:
    """The file to ingest; a derived one is written line by line and removed afterwards.

    Raises `InvalidInput`.
    """
    source = dataset.folder / CORPUS
    changes: list[Change] = [] if form.titles else [_without_title]
    if form.graph == "given":
        changes.append(_with_graph(dataset))
    if not changes:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="clew-eval-") as folder:
        derived = Path(folder) / CORPUS
        with derived.open("w", encoding="utf-8", newline="\n") as file:
            for line, document in read_rows(source, CorpusRow):
                row = document.model_dump(exclude_unset=True)
                for change in changes:
                    change(line, row)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        yield derived


def _without_title(line: Line, row: dict[str, Any]) -> None:
    title = fold(row.pop("title", None) or "")
    # The id takes the title's place, and what begins with a capital would be taken for a name.
    if row["id"][:1].isupper() or (title and f" {title} " in f" {fold(row['id'])} "):
        raise line.wrong(
            f"the id {row['id']!r} would stand where the hidden title stood, and is a name "
            'itself; ids must be such as "p12"'
        )


def _with_graph(dataset: Dataset) -> Change:
    """Adds a passage's entities and triples; one without any has an empty graph, not its own."""
    path = dataset.folder / GRAPH
    places: dict[str, int] = {}
    for line, row in read_rows(path, GraphRow):
        if row.passage_id not in dataset.documents:
            raise line.wrong(f"passage_id {row.passage_id!r} is not in {CORPUS}")
        if row.passage_id in places:
            raise line.wrong(f"passage_id {row.passage_id!r} stands there for a second time")
        places[row.passage_id] = line.offset

    def change(_: Line, document: dict[str, Any]) -> None:
        document["graph"] = {"entities": [], "triples": []}
        if document["id"] in places:
            with path.open("rb") as file:
                file.seek(places[document["id"]])
                given = GraphRow.model_validate(json.loads(file.readline()))
            document["graph"] = given.model_dump(mode="json", exclude={"passage_id"})

    return change
