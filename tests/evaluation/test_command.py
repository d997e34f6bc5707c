"""`clew eval` as people run it."""

from __future__ import annotations

import json
from pathlib import Path

from clew.tests.serving.conftest import Command

from .conftest import CORPUS, QUESTIONS, write_rows
from .test_against import listening


def test_help_shows_what_the_default_takes_and_the_other_commands(here: Command) -> None:
    done = here("eval", "--help")
    assert done.returncode == 0
    assert "eval [OPTIONS] {DATASET}" in done.stdout
    for said in ("--variant", "--at-least", "--against", "--hide-titles", "compare"):
        assert said in done.stdout
    assert "A.json" in here("eval", "compare", "--help").stdout


def test_variants_are_measured_saved_and_compared(
    clew: Command, dataset: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "all.json"
    done = clew(
        "eval", str(dataset), "--variant", "search=mode=search_only,top_k=5",
        "--into", str(saved), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert values["dataset"] == "pages"
    assert values["ingestion"]["written"] == 5
    assert values["questions"] == 4
    assert values["quality"]["recall@5"] == 1.0
    assert values["failed"] == {}
    assert set(values["variants"]) == {"search"}

    report = json.loads(saved.read_text("utf-8"))
    base, search = report["variants"]
    assert (base["settings"]["mode"], search["settings"]["mode"]) == ("hybrid", "search_only")
    assert (base["settings"]["top_k"], search["settings"]["top_k"]) == (20, 5)
    assert [one["id"] for one in base["answers"]] == ["q1", "q2", "q3", "q4"]
    assert "retrieval" in base["answers"][0]["ms"]
    assert "expand_graph" not in search["answers"][0]["ms"]

    again = tmp_path / "again.json"
    shown = clew("eval", str(dataset), "-s", "top_k=1", "--into", str(again), "--markdown")
    assert "| recall@5 |" in shown.stdout
    compared = clew("eval", "compare", str(saved), str(again))
    assert compared.returncode == 0, compared.stderr
    for said in ("differences", "lost most", "Whom did Katherine Mansfield marry?", "top_k"):
        assert said in compared.stdout
    some = tmp_path / "some.json"
    clew("eval", str(dataset), "--limit", "2", "--into", str(some))
    refused = clew("eval", "compare", str(saved), str(some))
    assert refused.returncode == 2
    assert "some lacks 2 questions of all, such as 'q3'" in refused.stderr


def test_a_floor_gates_with_one_sentence_and_exit_1(clew: Command, dataset: Path) -> None:
    held = clew("eval", str(dataset), "--at-least", "recall@5=0.9", "--at-least", "nDCG@10=0.5")
    assert held.returncode == 0, held.stderr
    missed = clew("eval", str(dataset), "-s", "top_k=1", "--at-least", "recall@5=0.99", "--json")
    assert missed.returncode == 1
    assert missed.stderr.splitlines()[-1] == ("clew: recall@5 is 0.8750 and must be at least 0.99.")
    assert json.loads(missed.stdout)["quality"]["recall@5"] == 0.875


def test_hidden_titles_and_a_given_graph_have_namespaces_of_their_own(
    clew: Command, dataset: Path
) -> None:
    write_rows(dataset / "kg.jsonl", [{"passage_id": "d1", "entities": ["Prelude"], "triples": []}])
    found = {}
    hidden, given = "--hide-titles", ("--graph", "given")
    for options in ((), (hidden,), given, (hidden, *given)):
        done = clew("eval", str(dataset), *options, "--json")
        assert done.returncode == 0, done.stderr
        values = json.loads(done.stdout)
        found[values["namespace"]] = values["versions"]["entities"]
    assert list(found) == [
        "eval-pages",
        "eval-pages-untitled",
        "eval-pages-given",
        "eval-pages-untitled-given",
    ]
    assert found["eval-pages-untitled-given"] == 1
    assert found["eval-pages"] > found["eval-pages-given"]


def test_another_system_is_one_more_column_and_its_strange_ids_are_warned_about(
    clew: Command, dataset: Path, tmp_path: Path
) -> None:
    with listening() as other:
        other.body = {"documents": [{"id": "d2"}, {"id": "zzz"}]}
        name = other.url.removeprefix("http://").removesuffix("/search")
        options = ("--against", other.url, "--rate", "1000", "--local-only", "--json")
        for _ in range(2):
            done = clew("eval", str(dataset), *options, CLEW_DATA_DIR=str(tmp_path / "data"))
            assert done.returncode == 0, done.stderr
            values = json.loads(done.stdout)
            assert values["variants"][name]["quality"]["recall@5"] == 0.375
            assert values["variants"][name]["context_tokens"] is None
            [warning] = values["warnings"]
            assert warning.startswith(f"{name} returned 1 ids that are not in the corpus")
        assert len(other.asked) == 4, "the second evaluation asks nothing"


def test_another_system_of_another_shape_ends_the_evaluation_with_what_is_missing(
    clew: Command, dataset: Path, tmp_path: Path
) -> None:
    with listening() as other:
        other.body = {"hits": []}
        done = clew("eval", str(dataset), "--against", other.url, CLEW_DATA_DIR=str(tmp_path / "x"))
    assert done.returncode == 1
    assert "the list 'documents' is missing; it has 'hits'" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_left_the_corpus_but_not_the_namespace_is_warned_about(
    clew: Command, dataset: Path
) -> None:
    assert clew("eval", str(dataset)).returncode == 0
    write_rows(dataset / "corpus.jsonl", [page for page in CORPUS if page["id"] != "d4"])
    [warning] = [
        said
        for said in json.loads(clew("eval", str(dataset), "--json").stdout)["warnings"]
        if "holds" in said
    ]
    assert "eval-pages holds 5 documents and the corpus 4" in warning


def test_a_question_that_cannot_be_asked_is_listed_and_the_evaluation_goes_on(
    clew: Command, dataset: Path
) -> None:
    long = {"id": "long", "question": "?" * 10_001, "gold": ["d1"]}
    write_rows(dataset / "queries.jsonl", [*QUESTIONS, long])
    done = clew("eval", str(dataset))
    assert done.returncode == 0, done.stderr
    assert "base failed on question 'long': The question has 10,001 characters" in done.stdout


def test_what_cannot_be_evaluated_is_one_sentence_before_anything_is_ingested(
    clew: Command, dataset: Path, tmp_path: Path
) -> None:
    for options, sentence in (
        (("--variant", "far"), "--variant 'far' is not NAME=SETTING=VALUE"),
        (("--variant", "far=2"), "--variant 'far=2' is not NAME=SETTING=VALUE"),
        (("--variant", "base=top_k=2"), "Two variants are called 'base'"),
        (("--variant", "far=hopps=2"), "hopps: Extra inputs are not permitted"),
        (("--at-least", "recall@3=0.5"), "--at-least 'recall@3=0.5' names none of recall@2"),
        (("--at-least", "recall@5=90"), "needs a value in [0, 1], such as recall@5=0.9"),
        (("--at-least", "recall@5=nan"), "needs a value in [0, 1]"),
        (("--at-least", "recall@5"), "needs a value in [0, 1]"),
        (("--into", str(tmp_path / "no" / "a.json")), "cannot be written; name a file in a"),
        (("--graph", "given"), "has no kg.jsonl"),
        (
            ("--variant", "localhost=top_k=2", "--against", "http://localhost/"),
            "'localhost' is what the other system is called; rename the variant",
        ),
        (("--against", "https://search.example/", "--local-only"), "--local-only sends nothing to"),
    ):
        done = clew("eval", str(dataset), *options)
        assert done.returncode == 2, options
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
        assert clew("ask", "Who?", "-n", "eval-pages").returncode == 2, "nothing was ingested"


def test_a_value_may_hold_commas_and_a_variant_may_overrule_an_option(
    clew: Command, dataset: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "a.json"
    done = clew(
        "eval", str(dataset), "--limit", "1", "--hops", "1", "--into", str(saved), "--variant",
        "far=relation_weights={KNOWS: 0.5, MET: 1},weights.link=0,graph_expansion_hops=2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    base, far = (one["settings"] for one in json.loads(saved.read_text())["variants"])
    assert far["relation_weights"] == {"KNOWS": 0.5, "MET": 1.0}
    assert (far["weights"]["link"], base["weights"]["link"]) == (0.0, 0.38)
    assert (base["graph_expansion_hops"], far["graph_expansion_hops"]) == (1, 2)
