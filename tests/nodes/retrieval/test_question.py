"""Which passages only repeat the text that a run was given in place of a question."""

from __future__ import annotations

from typing import Any

import pytest

from clew.nodes.retrieval._question import repeats

GIVEN = (
    "Bertram Hollis kept the lighthouse of Skerryvore for thirty years. In the last of them he met "
    "Ada Quill, who had come to mend the great chronometer, and neither of them left the rock "
    "before the spring. What they said to each other nobody knows."
)


def repeated(text: str, given: str = GIVEN, *, discover: bool = True) -> bool:
    state: Any = {"request": {"question": given, "discover": discover}}
    return repeats(state)(text)


@pytest.mark.parametrize(
    "text",
    [
        GIVEN,
        GIVEN[:100],
        "BERTRAM HOLLIS kept\n\nthe lighthouse — of Skerryvore, for thirty years!",
        f"Chapter one. {GIVEN} The end.",
        GIVEN.replace("thirty", "forty").replace("spring", "summer"),
    ],
    ids=["the same", "a part", "written otherwise", "as a part", "two words changed"],
)
def test_a_copy_or_a_part_or_a_whole_of_which_it_is_part_repeats_it(text: str) -> None:
    assert repeated(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ada Quill was a watchmaker in Oban, who kept the lighthouse of her uncle.",
        "Bertram Hollis kept the lighthouse of Skerryvore, and before that he sailed to Riga, "
        "where the harbour master owed him a favour and two barrels of tar.",
        "Ada Quill",
        "",
    ],
    ids=["the same names", "a sentence shared", "too short to be a copy", "nothing"],
)
def test_what_tells_something_else_does_not_repeat_it(text: str) -> None:
    assert not repeated(text)


def test_a_name_in_place_of_a_text_is_repeated_by_nothing() -> None:
    assert not repeated("Ada Quill met Bertram Hollis in Oban.", given="Ada Quill")


def test_nothing_repeats_a_question() -> None:
    assert not repeated(GIVEN, discover=False)
