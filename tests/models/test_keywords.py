"""The words that stand for a whole text."""

from __future__ import annotations

from clew.models.keywords import keywords

STORY = """The lighthouse keeper Bertram Hollis met Ada Quill at the harbour. Ada Quill had
brought a chronometer, and Bertram said that the chronometer was hers. "It is the
chronometer," she said. The lighthouse stood dark."""


def test_names_come_first_the_most_frequent_before_the_others() -> None:
    words = keywords(STORY, 48).split()
    assert words[:4] == ["Ada", "Quill", "Bertram", "Hollis"]


def test_after_the_names_come_repeated_and_long_words_and_no_function_words() -> None:
    words = keywords(STORY, 48).split()
    assert words[4:6] == ["chronometer", "lighthouse"]
    assert words.index("harbour") < words.index("said")
    assert not {"the", "that", "she", "and", "a"} & {word.lower() for word in words}


def test_each_word_comes_once_however_it_is_written() -> None:
    words = [word.lower() for word in keywords(STORY + " CHRONOMETER Harbour", 48).split()]
    assert len(words) == len({*words})


def test_there_are_no_more_than_asked_for() -> None:
    long = " ".join(f"Name{n} Surname{n} went for word{n}." for n in range(500))
    assert len(keywords(long, 48).split()) == 48
    assert keywords(STORY, 2) == "Ada Quill"


def test_a_text_without_names_is_told_by_its_words_and_one_without_words_by_nothing() -> None:
    assert keywords("rain falls on the plain", 3) == "falls plain rain"
    assert keywords("... and the !?", 3) == ""
