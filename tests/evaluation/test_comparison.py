"""Saved reports: written whole, read back, and compared only when they can be."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clew import prompts
from clew.evaluation import versions as versions_module
from clew.evaluation.comparison import compare, differences
from clew.evaluation.datasets import GoldQuestion
from clew.evaluation.measures import MEASURES
from clew.evaluation.report import (
    Answer,
    Report,
    Variant,
    load_report,
    shortfalls,
    unknown,
    write_whole,
)
from clew.evaluation.tables import comparison_page, markdown, report_page, summary
from clew.evaluation.versions import changes, digest, versions
from clew.services import Services
from clew.stores.errors import InvalidInput
from clew.stores.postgres import schema

NAMES = ("a", "b")


def answer(key: str, value: float, **others: Any) -> Answer:
    fields: dict[str, Any] = {
        "ranked": ["d1"],
        "cited": ["d1"],
        "measures": dict.fromkeys(MEASURES, value),
        "ms": {"whole run": 10.0, "retrieval": 8.0 + value},
        "context_tokens": 100,
        "degraded": [],
        "failed": None,
    }
    return Answer(id=key, **(fields | others))


def variant(values: list[float], name: str = "base", **settings: Any) -> Variant:
    answers = [answer(f"q{place}", value) for place, value in enumerate(values)]
    return Variant(name=name, settings={"top_k": 20, **settings}, answers=answers)


def report(values: list[float], **others: Any) -> Report:
    fields: dict[str, Any] = {
        "dataset": "pages",
        "namespace": "eval-pages",
        "titles": True,
        "graph": "own",
        "date": "2026-01-01T00:00:00+00:00",
        "versions": {"clew": "0.1.0", "prompts": {"synonyms": 1}, "ef_search": 200},
        "stats": {"documents": 5},
        "ingestion": {},
        "warnings": [],
        "questions": [
            GoldQuestion(id=f"q{place}", question=f"Who is {place}?", gold=["d1"])
            for place in range(len(values))
        ],
        "variants": [variant(values)],
    }
    return Report(**(fields | others))


def test_a_report_is_read_back_as_it_was_saved(tmp_path: Path) -> None:
    before = report([0.0, 0.5, 1.0], variants=[variant([0, 0.5, 1]), variant([1, 1, 1], "far")])
    before.save(tmp_path / "a.json")
    assert load_report(tmp_path / "a.json") == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_report_that_cannot_be_written_leaves_the_older_one(tmp_path: Path) -> None:
    place = tmp_path / "a.json"
    place.mkdir()
    (place / "inside").write_text("kept")
    with pytest.raises(InvalidInput, match=r"a\.json cannot be written"):
        report([1.0]).save(place)
    assert (place / "inside").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_file_is_replaced_and_not_written_over(tmp_path: Path) -> None:
    """Whoever has the older one open goes on reading it."""
    place = tmp_path / "a.json"
    write_whole(place, "older")
    with place.open() as open_file:
        write_whole(place, "newer")
        assert open_file.read() == "older"
    assert place.read_text() == "newer"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "is not a report of this version's `clew eval --into`"),
        ("no json", "is not a report"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_report_is_said(tmp_path: Path, text: str | None, sentence: str) -> None:
    if text is not None:
        (tmp_path / "a.json").write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        load_report(tmp_path / "a.json")


def test_a_report_that_lost_an_answer_is_refused(tmp_path: Path) -> None:
    whole = report([0.0, 1.0])
    whole.variants[0].answers.pop()
    whole.save(tmp_path / "a.json")
    with pytest.raises(InvalidInput, match="not one answer for each question"):
        load_report(tmp_path / "a.json")


def test_questions_are_paired_by_id_whatever_their_order() -> None:
    before, after = report([0.0, 1.0, 0.5]), report([0.25, 1.0, 0.75])
    after.questions.reverse()
    after.base.answers.reverse()
    found = compare(before, after, NAMES)
    [recall] = [one for one in found.changes if one.measure == "recall@5"]
    assert recall.difference.mean == pytest.approx(0.5 / 3)
    assert [(one.id, one.before, one.after) for one in found.gained] == [
        ("q0", 0.0, 0.25),
        ("q2", 0.5, 0.75),
    ]
    assert found.lost == []


def test_the_questions_that_moved_most_come_first_on_both_sides() -> None:
    found = compare(report([0.5] * 7), report([1.0, 0, 0.25, 0.5, 0.75, 0.4, 0.6]), NAMES)
    assert [one.id for one in found.gained] == ["q0", "q4", "q6"]
    assert [one.id for one in found.lost] == ["q1", "q2", "q5"]


def test_milliseconds_of_failed_runs_are_left_out_of_both_sides() -> None:
    before, after = variant([1.0, 1.0, 0.0]), variant([0.0, 1.0, 1.0])
    after.answers[0] = answer("q0", 0.0, ms={}, context_tokens=None, failed="No.")
    found = {one.measure: one for one in differences(before, after)}
    assert found["recall@5"].difference.mean == 0.0
    assert (found["retrieval ms"].before, found["retrieval ms"].after) == (8.5, 9.0)
    assert found["context tokens"].difference.mean == 0.0


def other_gold() -> Report:
    changed = report([1.0])
    changed.questions[0].gold.append("d2")
    return changed


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        (report([1.0], dataset="hotpot"), "a is of the dataset 'pages' and b of 'hotpot'"),
        (report([1.0, 0.0]), "a lacks 1 questions of b, such as 'q1'"),
        (other_gold(), "Question 'q0' has another text or other gold passages in b than in a"),
    ],
)
def test_reports_that_do_not_belong_together_are_refused(after: Report, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        compare(report([1.0]), after, NAMES)


def test_what_differs_in_versions_and_settings_is_told() -> None:
    after = report(
        [1.0],
        titles=False,
        versions={"clew": "0.2.0", "prompts": {"synonyms": 2}, "ef_search": 200},
        variants=[variant([1.0], top_k=5)],
    )
    found = compare(report([1.0]), after, NAMES)
    assert found.versions == [
        ("titles", "True", "False"),
        ("clew", "0.1.0", "0.2.0"),
        ("prompts.synonyms", "1", "2"),
    ]
    assert found.settings == [("top_k", "20", "5")]
    page = markdown(comparison_page(found, NAMES))
    assert "| prompts.synonyms | 1 | 2 |" in page
    assert "| top_k | 20 | 5 |" in page


def test_the_table_marks_what_is_more_than_chance_and_nothing_else() -> None:
    steady = [0.0, 0.5] * 20
    variants = [
        variant(steady),
        variant([value + 0.5 for value in steady], "better"),
        variant([*steady[:-1], 1.0], "once"),
    ]
    page = markdown(report_page(report(steady, variants=variants)))
    [line] = [line for line in page.splitlines() if line.startswith("| recall@5")]
    _, name, base, better, once, _ = (cell.strip() for cell in line.split("|"))
    assert (name, base, better) == ("recall@5", "25.0", "75.0 +50.0 [+50.0, +50.0] *")
    assert once.startswith("26.2 +1.2 [")
    assert not once.endswith("*")
    assert "paired percentile bootstrap" in page


def test_failures_and_what_a_system_does_not_have_show_in_the_tables() -> None:
    base = variant([1.0, 0.0])
    base.answers[1] = answer("q1", 0.0, ms={}, context_tokens=None, failed="No | way.")
    other = Variant(name="other", settings=None, answers=[])
    other.answers = [
        answer(f"q{place}", 1.0, cited=None, context_tokens=None, ms={"whole run": 3.0},
               measures={"recall@5": 1.0}) for place in range(2)
    ]  # fmt: skip
    page = markdown(report_page(report([1.0, 0.0], variants=[base, other], warnings=["Beware."])))
    assert "| base | 0 | 1 | 100 / 100 / 100 |" in page
    assert "| other | 0 | 0 | – |" in page
    assert "| context-precision | 50.0 | – |" in page
    assert "| retrieval | 9.0 / 9.0 / 9.0 | – |" in page
    assert "base failed on question 'q1': No | way." in page
    assert "Beware." in page


def test_programs_get_the_base_at_the_top_and_differences_beside_each_variant() -> None:
    both = report([0.0, 0.5], variants=[variant([0.0, 0.5]), variant([1.0, 1.0], "far")])
    values = json.loads(json.dumps(summary(both)))
    assert values["quality"]["recall@5"] == 0.25
    assert values["questions"] == 2
    assert values["variants"]["far"]["quality"]["recall@5"] == 1.0
    [found] = [
        one for one in values["variants"]["far"]["differences"] if one["measure"] == "nDCG@10"
    ]
    assert found["difference"] == {"mean": 0.75, "low": 0.5, "high": 1.0}


def test_a_floor_is_met_by_its_own_value_and_missed_below_it() -> None:
    floors = {"recall@5": 0.75, "nDCG@10": 0.76}
    assert shortfalls({"recall@5": 0.75, "nDCG@10": 0.75}, floors) == [
        "nDCG@10 is 0.7500 and must be at least 0.76"
    ]


def test_ids_that_no_document_has_are_counted() -> None:
    strange = variant([1.0, 1.0], "other")
    strange.answers[1].ranked = ["d1", "x2", "x1"]
    [said] = unknown([variant([1.0]), strange], {"d1"})
    assert said.startswith("other returned 2 ids that are not in the corpus, such as 'x1'")


async def test_versions_name_code_prompts_models_schema_and_settings(services: Services) -> None:
    found = versions(services)
    assert found["clew"] == "0.1.0"
    assert found["schema"] == schema.LATEST
    assert found["embedding"] == {"model": "all-MiniLM-L6-v2", "dimension": 384}
    assert found["ef_search"] == 200
    assert (found["reranker"], found["chat"]) == (None, None)
    texts = {module.name for module in pkgutil.iter_modules(prompts.__path__)} - {"template"}
    assert set(found["prompts"]) == texts
    assert json.dumps(found)
    assert "password" not in json.dumps(found)


def test_a_checkout_names_its_commit_and_a_plain_folder_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions_module, "ROOT", tmp_path)
    assert versions_module._revision() is None
    author = {
        f"GIT_{who}_{what}": "a@b.c"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    (tmp_path / "file").write_text("one")
    for command in (["init", "-q"], ["add", "file"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, env={**os.environ, **author})
    clean = versions_module._revision()
    assert clean is not None
    assert len(clean) == 40
    (tmp_path / "file").write_text("two")
    assert versions_module._revision() == f"{clean}-dirty"
    monkeypatch.setenv("PATH", "")
    assert versions_module._revision() is None


def test_changes_name_what_came_and_what_went() -> None:
    assert changes({"a": 1, "b": {"c": 2}}, {"b": {"c": 3, "d": None}}) == [
        ("a", "1", "–"),
        ("b.c", "2", "3"),
        ("b.d", "–", "None"),
    ]


def test_a_digest_changes_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("one")
    one = digest(file)
    file.write_text("two")
    assert (len(one), digest(file) == one) == (12, False)
