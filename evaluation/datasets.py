"""Questions with gold passages and the corpus they are asked of: a folder of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ..stores.errors import InvalidInput

__all__ = ["CorpusRow", "Dataset", "GoldQuestion", "Line", "load_dataset", "read_rows"]

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"


class GoldQuestion(BaseModel):
    """A question, and the ids of the documents that together answer it."""

    id: str
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    gold: list[str] = Field(min_length=1)


class CorpusRow(BaseModel):
    """A document; whatever else its line holds is kept for the ingestion."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(min_length=1)
    title: str | None = None


@dataclass(frozen=True)
class Dataset:
    """A folder that was found to be whole: every gold id is a document's."""

    name: str
    folder: Path
    questions: list[GoldQuestion]
    documents: frozenset[str]


Row = TypeVar("Row", bound=BaseModel)


class Line(NamedTuple):
    """Where a line stands: its file, its number from 1, and the byte at which it begins."""

    path: Path
    number: int
    offset: int

    def wrong(self, problem: str) -> InvalidInput:
        """The error that says what is wrong with this line."""
        return InvalidInput(f"{self.path}, line {self.number}: {problem}; mend that line.")


def load_dataset(folder: Path, limit: int | None = None) -> Dataset:
    """The dataset in `folder`, with its first `limit` questions. Raises `InvalidInput`."""
    documents = frozenset(row.id for _, row in read_rows(folder / CORPUS, CorpusRow))
    seen: set[str] = set()
    questions = []
    for line, question in read_rows(folder / QUERIES, GoldQuestion):
        if question.id in seen:
            raise line.wrong(f"the id {question.id!r} stands there for a second time")
        if unknown := [key for key in question.gold if key not in documents]:
            raise line.wrong(f"gold {unknown[0]!r} is not in {CORPUS}")
        seen.add(question.id)
        questions.append(question)
    return Dataset(folder.resolve().name, folder, questions[:limit], documents)


def read_rows(path: Path, shape: type[Row]) -> Iterator[tuple[Line, Row]]:
    """Stream the lines of a JSONL file that are not blank. Raises `InvalidInput`."""
    if not path.is_file():
        raise InvalidInput(f"{path.parent} has no {path.name}; this evaluation needs one.")
    empty, offset = True, 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            line, offset = Line(path, number, offset), offset + len(raw)
            if not raw.strip():
                continue
            empty = False
            try:
                yield line, shape.model_validate(json.loads(raw))
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(map(str, first["loc"])) or "the line"
                raise line.wrong(f"{field}: {first['msg'].lower()}") from error
            except (ValueError, RecursionError) as error:
                raise line.wrong(f"it is not JSON ({error})") from error
    if empty:
        raise InvalidInput(f"{path} is empty.")
