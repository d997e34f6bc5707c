"""What counts as one name, and where names stand in a text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.models.names import mentions, ngrams, normalise, strip_qualifier
from clew.models.recognizer import NAME, CuratedEntity, Recognizer
from clew.stores.errors import InvalidInput


def found(text: str, *known: str, least: float = 0.7) -> list[str]:
    return [one.name for one in Recognizer().find(text, known) if one.confidence >= least]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("The Beatles", "beatles"),
        ("A. A. Milne", "a a milne"),
        ("God'S Gift To Women", "god gift to women"),
        (" children ’s ", "children"),
        ('book" What', "book what"),
        ("half- brother", "half brother"),
        ("Teutberga( died", "teutberga died"),
        ("Aldri Annet Enn Bråk", "aldri annet enn brak"),
        ("Simon & Garfunkel", "simon and garfunkel"),
        ("C++", "c++"),
        ("'s-Hertogenbosch", "s hertogenbosch"),
        ("!!!", "!!!"),
        ("The The", "the"),
        ("ﬁlm", "film"),
    ],
)
def test_spellings_of_one_name_are_equal(name: str, expected: str) -> None:
    assert normalise(name) == expected


@pytest.mark.parametrize("name", ["हिन्दी", "北京", "Синий", "й", "ירושלים"])
def test_scripts_other_than_latin_keep_their_letters(name: str) -> None:
    assert normalise(name) == name.casefold()


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing(name: str) -> None:
    assert normalise(normalise(name)) == normalise(name)


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_only_blank_names_normalise_to_nothing(name: str) -> None:
    assert bool(normalise(name)) == bool(name.split())


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Alice (2010 film)", ("Alice", "2010 film")),
        ("Alice( 2010 film)", ("Alice", "2010 film")),
        ("(500) Days of Summer", ("(500) Days of Summer", "")),
        ("Paris", ("Paris", "")),
        ("(untitled)", ("(untitled)", "")),
    ],
)
def test_a_trailing_parenthesis_is_a_qualifier(title: str, expected: tuple[str, str]) -> None:
    assert strip_qualifier(title) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Teutberga( died 875) was a daughter of Bosonid Boso the Elder and sister of Hucbert, "
            "the lay- abbot of St. Maurice's Abbey.",
            ["Boso the Elder", "Hucbert", "St. Maurice's Abbey"],
        ),
        ("He met Jan Solovej from University of Copenhagen.",
         ["Jan Solovej", "University of Copenhagen"]),
        ("She married Adalbert II of Tuscany and Lothair II.",
         ["Adalbert II of Tuscany", "Lothair II"]),
        ("It was written by J. R. R. Tolkien.", ["J. R. R. Tolkien"]),
        ("The crew of Apollo 13 fought in World War II.", ["Apollo 13", "World War II"]),
        ("He led AT&T, then Procter & Gamble.", ["AT&T", "Procter & Gamble"]),
        ("They read the book \" What is God?\" twice.", ["What is God?"]),
        ("They heard *The Crane Wife* there.", ["The Crane Wife"]),
        ("The heir of Saxe- Coburg and Gotha left.", ["Saxe-Coburg and Gotha"]),
        ("Only Kim Jong-il and the Russian-born pianist came.", ["Kim Jong-il"]),
        ("It was the Institute of Arts and Sciences.", ["Institute of Arts and Sciences"]),
        ("We saw the 2018 Winter Olympics in July 2018.", ["2018 Winter Olympics"]),
        ("In the end Emperor Lothair I of the Franks won.", ["Lothair I of the Franks"]),
        ("He sat on the Advisory Committee on Antarctic Names.",
         ["Advisory Committee on Antarctic Names"]),
        ("After the 2010 Census and 140 Football League games.",
         ["2010 Census", "Football League"]),
        ("It was printed by Springer Science+Business Media.", ["Springer Science+Business Media"]),
        ('We watched "27 Dresses" there.', ["27 Dresses"]),
        ("They crossed Iran, Iraq, and Syria.", ["Iran", "Iraq", "Syria"]),
        ("A friend of Ann and Bob.", ["Ann", "Bob"]),
    ],
)  # fmt: skip
def test_names_come_out_whole(text: str, names: list[str]) -> None:
    assert found(text) == names


def test_a_rank_after_a_comma_makes_a_further_name() -> None:
    assert found("We met Hugh, King of Italy, there.") == [
        "Hugh, King of Italy", "Hugh", "King of Italy"
    ]  # fmt: skip


def test_long_lists_without_commas_are_no_names() -> None:
    ranks = " ".join(f"Qiao{'a' * n} Shi Secretary of the Party" for n in range(1, 9))
    assert found(f"We saw {ranks} there.") == []


@pytest.mark.parametrize(
    "text",
    [
        "However, the film was released. Production began. It was a success.",
        "Filming took long, and after filming they left.",
        "On Monday they came, in March 2007 they went.",
        "The American and the French left.",
    ],
)
def test_ordinary_words_are_no_names(text: str) -> None:
    assert found(text) == []


def test_a_word_that_opens_a_sentence_is_a_name_if_it_is_one_elsewhere() -> None:
    assert found("Boritzer wrote it.") == []
    assert found("Boritzer wrote it. They thanked Boritzer.") == ["Boritzer", "Boritzer"]


def test_a_known_title_is_found_whole_where_it_is_written_as_a_name() -> None:
    text = "Across the Blue Sea is a film. They swam across the blue sea."
    assert found(text, "Across the Blue Sea") == ["Across the Blue Sea"]


def test_a_known_name_may_hold_an_ampersand_or_a_possessive() -> None:
    text = "We read Alice's Adventures, then AT&T, and later AT and T."
    assert found(text, "Alice's Adventures", "AT&T") == ["Alice's Adventures", "AT&T", "AT&T"]


@given(st.text(max_size=300))
def test_names_stand_where_they_are_said_to(text: str) -> None:
    for one in Recognizer().find(text):
        assert 0 <= one.start < one.end <= len(text)
        assert 0.5 <= one.confidence <= 1
        assert one.method != "span" or normalise(one.name) == normalise(text[one.start : one.end])


def test_codes_and_addresses_are_recognised_by_their_form() -> None:
    text = (
        "ORA-01555 at 10.0.0.1 or fe80::1 and 00:1B:44:11:3A:B7, see https://a.b/c?d=1 "
        "or ask x@y.org about v1.2.3 of 4 July 1998, 2024-05-06, at 12:30:45."
    )
    assert [(one.type, one.name) for one in Recognizer().find(text)] == [
        ("ErrorCode", "ORA-01555"),
        ("Address", "10.0.0.1"),
        ("Address", "fe80::1"),
        ("Address", "00:1B:44:11:3A:B7"),
        ("Url", "https://a.b/c?d=1"),
        ("Email", "x@y.org"),
        ("Version", "v1.2.3"),
        ("Date", "4 July 1998"),
        ("Date", "2024-05-06"),
    ]


def test_an_acronym_stands_for_the_name_it_was_introduced_with() -> None:
    first, second = Recognizer().find("The World Health Organization (WHO) met. Now WHO acts.")[::2]
    assert first.name == second.name == "World Health Organization"
    assert first.aliases == ("WHO",)


def test_a_parenthesis_that_does_not_abbreviate_is_no_alias() -> None:
    names = Recognizer().find("They saw the Eiffel Tower (UNESCO) there.")
    assert [(one.name, one.aliases) for one in names] == [("Eiffel Tower", ()), ("UNESCO", ())]


CURATED = [
    CuratedEntity(name="Acute Myeloid Leukemia", type="Disease", aliases=["AML"]),
    CuratedEntity(name="Leukemia", type="Disease"),
    CuratedEntity(name="WHO", type="Organisation"),
    CuratedEntity(name="widget", type="Part", properties={"sku": 7}),
]


def test_curated_names_win_and_the_longest_counts() -> None:
    names = Recognizer(CURATED).find("Both acute myeloid leukemia and a Widget; AML, too.")
    assert [(one.name, one.type, one.method) for one in names] == [
        ("Acute Myeloid Leukemia", "Disease", "curated"),
        ("widget", "Part", "curated"),
        ("Acute Myeloid Leukemia", "Disease", "curated"),
    ]
    assert names[1].properties == {"sku": 7}


def test_a_text_may_end_with_the_beginning_of_a_longer_name() -> None:
    longer = CuratedEntity(name="north pier light house", type="Place")
    names = Recognizer([longer, CuratedEntity(name="north pier", type="Place")]).find("north pier")
    assert [(one.name, one.start, one.end) for one in names] == [("north pier", 0, 10)]


def test_a_curated_word_keeps_its_capitals_and_its_bounds() -> None:
    assert Recognizer(CURATED).find("who knows leukemia or widgets") == []


def test_a_curated_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "curated.yaml"
    path.write_text("- {name: Frobnicator, type: Device, aliases: [frob]}\n", encoding="utf-8")
    assert Recognizer.load(path).find("the frob is on")[0].name == "Frobnicator"
    assert Recognizer.load(path).digest != Recognizer.load(None).digest


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("- {name: X}", "0.type"),
        ("name: X", "list"),
        ("- {name: X, type: Y, colour: red}", "colour"),
        ("- [", "cannot be read"),
    ],
)
def test_a_broken_curated_file_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "curated.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=reason):
        Recognizer.load(path)


def test_a_missing_curated_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.yaml"):
        Recognizer.load(tmp_path / "none.yaml")


def test_ngrams_neither_begin_nor_end_with_a_function_word() -> None:
    assert ngrams("Who is the mother of Lothair II?", longest=3) == [
        "mother", "mother of lothair", "lothair", "lothair ii", "ii"
    ]  # fmt: skip


def test_capitalised_function_words_may_open_a_title() -> None:
    assert "in the mood for love" in ngrams("Who directed In the Mood for Love?")


def test_no_ngram_is_longer_than_asked() -> None:
    runs = ngrams("one two three four five six seven eight nine ten", longest=4)
    assert max(len(run.split()) for run in runs) == 4


def test_mentions_put_spans_first_and_repeat_nothing() -> None:
    question = "Which film is older, God'S Gift To Women or Aldri Annet Enn Bråk?"
    found_in = mentions(question)
    assert found_in[:2] == [("God'S Gift To Women", "span"), ("Aldri Annet Enn Bråk", "span")]
    normal = [normalise(text) for text, _ in found_in]
    assert len(normal) == len(set(normal))
    kinds = [kind for _, kind in found_in]
    assert kinds == sorted(kinds, reverse=True)


def test_what_is_only_a_name_has_the_common_type() -> None:
    assert Recognizer().find("They met Mel Gibson.")[0].type == NAME
