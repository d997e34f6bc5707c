"""The estimate that keeps a context within its budget: high rather than low, and additive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.models.embeddings import SentenceEmbedder
from clew.models.tokens import count_tokens

TEXTS = [
    "Katherine Mansfield was a writer born in Wellington, New Zealand, in 1888.",
    "The p95 of error E1234 at 10.0.0.1:5432 rose from 1.2s to 45.6s (v2.3.1-rc.1)!",
    '<passage id="1" title="A &amp; B">x —OWNS→ y</passage>',
    "Antidisestablishmentarianism and incomprehensibilities notwithstanding.",
    "世界人权宣言第一条：人人生而自由，在尊严和权利上一律平等。",
    "Всеобщая декларация прав человека провозглашает равенство людей.",
    "Der Kapitän fährt über die Straße nach Königsberg und grüßt die Bäckerin.",
]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("  \n\t ", 0), ("word", 1), ("words", 1), ("wordss", 2), ("a b", 2), ("a, b.", 4),
     ("<b>", 3), ("x" * 50, 10), ("1888", 2), ("192.168", 3), ("世界", 2), ("Straße", 2)],
)  # fmt: skip
def test_words_count_by_their_letters_and_marks_by_themselves(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@pytest.mark.parametrize("text", TEXTS)
def test_it_errs_on_the_high_side_of_a_real_subword_vocabulary(
    embedder: SentenceEmbedder, text: str
) -> None:
    real = embedder.count_tokens(text)
    assert real * 0.85 <= count_tokens(text) <= real * 2 + 2


@given(st.text(max_size=200), st.text(max_size=200))
def test_parts_joined_by_a_line_break_count_as_their_sum(one: str, other: str) -> None:
    assert count_tokens(f"{one}\n{other}") == count_tokens(one) + count_tokens(other)


@given(st.text(max_size=300), st.integers(0, 300))
def test_a_part_never_counts_more_than_the_whole(text: str, end: int) -> None:
    assert count_tokens(text[:end]) <= count_tokens(text)
