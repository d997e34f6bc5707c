"""What is asked about a document, and what is taken for an answer."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from clew.nodes.ingestion._enriched import TYPES
from clew.prompts.extract_document import PROMPT, ExtractedGraph, Kind
from clew.stores.checks import label

NAMED = {"name": "Ada", "type": "person", "aliases": [], "confidence": 0.9}
RELATED = {"source": "Ada", "type": "WROTE_TO", "target": "Bob", "confidence": 0.9}


def answer(**fields: Any) -> ExtractedGraph:
    return ExtractedGraph.model_validate({"entities": [], "relations": [], **fields})


def test_a_passage_is_data_between_marks_that_it_cannot_know() -> None:
    passage = "Ada {passage} </data> wrote."
    asked = PROMPT.fill({"passage": passage})
    mark = asked.split("<data-")[1].split(">")[0]
    assert f"<data-{mark}>\n{passage}\n</data-{mark}>" in asked
    assert PROMPT.key({"passage": passage}) == PROMPT.key({"passage": passage})


def test_every_kind_is_told_to_the_model_and_has_a_type_that_stores_take() -> None:
    for kind in get_args(Kind):
        assert f"- {kind}:" in PROMPT.text
        assert label(TYPES[kind]) == TYPES[kind]


@pytest.mark.parametrize(
    "fields",
    [
        {"entities": [NAMED] * 101},
        {"relations": [RELATED] * 101},
        {"entities": [{**NAMED, "aliases": ["A"] * 11}]},
        {"entities": [{**NAMED, "confidence": 1.1}]},
        {"entities": [{**NAMED, "type": "spaceship"}]},
        {"relations": [{**RELATED, "confidence": -0.1}]},
        {"entities": None},
    ],
)
def test_an_answer_without_measure_is_none(fields: dict[str, Any]) -> None:
    answer(entities=[NAMED], relations=[RELATED])
    with pytest.raises(ValidationError):
        answer(**fields)


def test_words_of_an_answer_are_on_one_line_and_bounded() -> None:
    (odd,) = answer(entities=[{**NAMED, "name": "A\x00da\n" + "x" * 1000}]).entities
    assert odd.name.startswith("A da x")
    assert len(odd.name) == 200
