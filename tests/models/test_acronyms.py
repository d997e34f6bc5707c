"""What acronyms abbreviate."""

from __future__ import annotations

import pytest

from clew.models.acronyms import abbreviates, long_forms
from clew.models.recognizer import Recognizer


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("The Food and Drug Administration (FDA) acts.", ["Food and Drug Administration"]),
        ("a Treaty on the Functioning of the European Union (TFEU)",
         ["Treaty on the Functioning of the European Union"]),
        ("It is a census-designated place (CDP).", []),
        ("They saw the Eiffel Tower (UNESCO) there.", []),
        ("Nobody. Works (NW)", []),
        ("(WHO)", []),
    ],
)  # fmt: skip
def test_a_long_form_is_the_words_whose_initials_follow(text: str, forms: list[str]) -> None:
    assert [text[start:end] for start, end in long_forms(text)] == forms


def test_function_words_may_be_left_out() -> None:
    assert abbreviates("ECUSA", "Episcopal Church in the United States of America")
    assert not abbreviates("ECUSA", "Episcopal Church")


def test_a_name_with_an_and_inside_is_whole_if_its_acronym_says_so() -> None:
    found = Recognizer().find("The Food and Drug Administration (FDA) met; FDA officials acted.")
    assert [(one.name, one.aliases) for one in found] == [
        ("Food and Drug Administration", ("FDA",)),
        ("Food and Drug Administration", ("FDA",)),
        ("Food and Drug Administration", ("FDA",)),
    ]
