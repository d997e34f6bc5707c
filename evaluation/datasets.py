"""Questions with gold passages, one JSON object a line: id, question, gold (document ids)."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from ..stores.errors import InvalidInput

__all__ = ["GoldQuestion", "load_questions"]


class GoldQuestion(BaseModel):
    """A question, and the ids of the documents that together answer it."""

    id: str
    question: str = Field(min_length=1)
    gold: list[str] = Field(min_length=1)


def load_questions(folder: Path) -> list[GoldQuestion]:
    """The questions of `folder/queries.jsonl`, in order. Raises `InvalidInput`."""
    path = folder / "queries.jsonl"
    if not path.is_file():
        raise InvalidInput(f"{folder} has no queries.jsonl; a dataset folder needs one.")
    questions = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            questions.append(GoldQuestion.model_validate(json.loads(line)))
        except (json.JSONDecodeError, ValidationError) as error:
            problem = str(error).splitlines()[0]
            raise InvalidInput(f"{path}, line {number}: {problem}; mend that line.") from error
    if not questions:
        raise InvalidInput(f"{path} holds no questions.")
    return questions
