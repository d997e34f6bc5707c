"""The personas that come with Clew, and what a file of one's own may say."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from clew.models.personas import Persona, Personas
from clew.stores.errors import InvalidInput

TODAY = date(2026, 11, 22)
TYPES = ("FAMILY_OF", "KNEW", "WORKED_WITH", "FRIENDS_WITH")


@pytest.mark.parametrize(
    ("name", "hops", "weights", "passages", "crosses", "since"),
    [
        ("biographer", 2, (1.0, 0.8, 0.7, 0.8), 20, True, None),
        ("friend", 1, (0.5, 1.0, 0.4, 1.0), 15, True, "2021-11-22"),
        ("colleague", 1, (0.2, 0.6, 1.0, 0.5), 15, False, "1986-11-22"),
        ("family", 2, (1.0, 0.3, 0.2, 0.4), 20, True, None),
    ],
)
def test_the_table_of_the_record(
    name: str,
    hops: int,
    weights: tuple[float, ...],
    passages: int,
    crosses: bool,
    since: str | None,
) -> None:
    persona = Personas.load(None).named(name)
    assert persona.max_hops == hops
    assert persona.relation_weights == dict(zip(TYPES, weights, strict=True))
    assert persona.max_graph_results == passages
    assert persona.cross_namespace is crosses
    assert persona.temporal_range.dates(TODAY) == {"date_from": since, "date_to": None}


def test_neutral_changes_nothing() -> None:
    personas = Personas.load(None)
    assert personas.names == ("neutral", "biographer", "friend", "colleague", "family")
    assert personas.named("neutral") == Persona()


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="no persona 'boss'; name one of neutral, biographer"):
        Personas.load(None).named("boss")


def load(folder: Path, text: str) -> Personas:
    path = folder / "personas.yaml"
    path.write_text(text, encoding="utf-8")
    return Personas.load(path)


def test_ranges_are_named_or_written_out(tmp_path: Path) -> None:
    personas = load(
        tmp_path,
        """
        ranges:
          childhood: {from: 1950-01-01, to: "1965-12-31"}
        personas:
          neutral: {}
          sister: {temporal_range: childhood}
          archivist: {temporal_range: {to: 1900-12-31}}
          reader: {temporal_range: full}
        """,
    )
    dates = {name: personas.named(name).temporal_range.dates(TODAY) for name in personas.names}
    assert dates == {
        "neutral": {"date_from": None, "date_to": None},
        "sister": {"date_from": "1950-01-01", "date_to": "1965-12-31"},
        "archivist": {"date_from": None, "date_to": "1900-12-31"},
        "reader": {"date_from": None, "date_to": None},
    }


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("max_hops: 4", "boss.max_hops: Input should be less than or equal to 3."),
        ("max_hops: 0", "boss.max_hops: Input should be greater than or equal to 1."),
        ("max_hop: 2", "boss.max_hop: there is no such field"),
        ("relation_weights: {KNEW: 1.5}", "boss.relation_weights.KNEW: Input should be less"),
        ("relation_weights: {KNEW: -1}", "boss.relation_weights.KNEW: Input should be greater"),
        ("relation_weights: {KNEW: .nan}", "boss.relation_weights.KNEW: Input should be a finite"),
        ("relation_weights: {'<b>': 1}", "boss.relation_weights: '<b>' cannot be the type"),
        ("default_relation_weight: 2", "boss.default_relation_weight: Input should be less"),
        ("max_graph_results: 0", "boss.max_graph_results: Input should be greater"),
        ("cross_namespace: maybe", "boss.cross_namespace: Input should be a valid boolean."),
        ("temporal_range: often", "boss.temporal_range: there is no range 'often'; name one of"),
        (
            "temporal_range: {from: 2000-01-01, to: 1990-01-01}",
            "boss.temporal_range: from 2000-01-01 lies after to 1990-01-01; swap them.",
        ),
        ("temporal_range: {from: 1990}", "boss.temporal_range.from: '1990' is not a date; write"),
        (
            "temporal_range: {last_years: 5, from: 1990-01-01}",
            "boss.temporal_range: give either last_years or from and to.",
        ),
    ],
)
def test_a_mistake_is_told_with_the_persona_and_the_field(
    tmp_path: Path, fields: str, told: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(tmp_path, f"personas:\n  neutral: {{}}\n  boss:\n    {fields}\n")
    assert told in str(caught.value)
    assert "personas.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "write a mapping of fields here"),
        ("personas: [", "cannot be read"),
        ("personas: {}", "the persona neutral is missing; add `neutral: {}`."),
        ("personas: {neutral: }", "neutral: write a mapping of fields here, `{}` for none."),
        ("people: {}", "personas: Field required."),
        (
            "ranges: {full: {last_years: 3}}\npersonas: {neutral: {}}",
            "the range full is everything already",
        ),
        (
            "ranges: {recent: {last_years: 0}}\npersonas: {neutral: {}}",
            "ranges.recent.last_years: Input should be greater than or equal to 1.",
        ),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(tmp_path, text)
    assert told in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        Personas.load(tmp_path / "none.yaml")


def test_the_file_that_the_documentation_shows(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "personas.md").read_text("utf-8")
    shown = load(tmp_path, page.split("```yaml\n")[1].split("```")[0])
    assert shown.names == ("neutral", "historian")
    assert shown.named("historian").temporal_range.dates(TODAY) == {
        "date_from": "1939-09-01",
        "date_to": "1945-09-02",
    }
