"""Doubtful names are gathered over documents, and decisions about them are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.evaluation.curated import CuratedList, decisions
from clew.evaluation.review import Doubtful, Review, review
from clew.models.recognizer import CuratedEntity, Recognizer
from clew.settings import Settings
from clew.stores.errors import InvalidInput

DUTCH = CuratedEntity(name="Dutch", type="Nationality")


async def read(folder: Path, *curated: CuratedEntity) -> Review:
    return await review([str(folder)], Recognizer(curated), Settings())


async def doubtful(folder: Path, *curated: CuratedEntity) -> dict[str, Doubtful]:
    return {one.name: one for one in (await read(folder, *curated)).names}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents: Dutch in both, Zorblax in one."""
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "ann.md").write_text("# Ann Berg\n\nShe was a Dutch painter. The Dutch liked her.\n")
    (pages / "bob.txt").write_text("Zorblax toured with a Dutch band.\n")
    return pages


async def test_the_most_frequent_come_first_with_their_counts_and_a_sentence(folder: Path) -> None:
    seen = await read(folder)
    assert seen.documents == 2
    assert seen.names == [
        Doubtful("Dutch", 3, 2, 0.5, "She was a Dutch painter."),
        Doubtful("Zorblax", 1, 1, 0.6, "Zorblax toured with a Dutch band."),
    ]


async def test_a_name_that_one_document_is_sure_of_is_not_doubtful(folder: Path) -> None:
    (folder / "sure.txt").write_text("They saw Zorblax there.\n")
    assert "Zorblax" not in await doubtful(folder)


async def test_a_title_is_sure_though_its_own_text_does_not_name_it(folder: Path) -> None:
    (folder / "title.md").write_text("---\ntitle: Zorblax\n---\nA band from the north.\n")
    assert "Zorblax" not in await doubtful(folder)


async def test_the_surname_of_whom_a_page_is_about_is_doubtful_only_elsewhere(
    folder: Path,
) -> None:
    page = "# Lou Breslow\n\nLou Breslow (born 1900) was a writer.\n\nBreslow wrote much.\n"
    (folder / "lou.md").write_text(page)
    assert "Breslow" not in await doubtful(folder)
    (folder / "other.txt").write_text("They met Kim Breslow once. Breslow left early.\n")
    assert (await doubtful(folder))["Breslow"].count == 1


async def test_curated_names_are_not_doubtful(folder: Path) -> None:
    assert list(await doubtful(folder, DUTCH)) == ["Zorblax"]


async def test_a_long_sentence_is_cut_between_words_around_the_name(tmp_path: Path) -> None:
    text = f"{'many words before ' * 9}the Dutch fleet {'and words after it ' * 9}."
    (tmp_path / "long.txt").write_text(text)
    example = (await doubtful(tmp_path))["Dutch"].example
    assert example.startswith("… ")
    assert example.endswith(" …")
    assert f" {example.strip('… ')} " in text
    assert " Dutch " in example
    assert len(example) < 120


async def test_rows_are_read_and_those_with_a_graph_of_their_own_passed_over(
    tmp_path: Path,
) -> None:
    rows = [
        {"id": "a", "text": "Zorblax toured."},
        {"id": "b", "text": "Quibble toured.", "graph": {"entities": ["Bath"], "triples": []}},
        {"id": "c", "text": 7},
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    seen = await read(tmp_path)
    assert [one.name for one in seen.names] == ["Zorblax"]
    assert (seen.documents, len(seen.skipped)) == (2, 1)
    assert seen.skipped[0]["source"] == "rows.jsonl, line 3"


async def test_progress_counts_documents_and_a_file_that_goes_meanwhile_is_named(
    folder: Path,
) -> None:
    counted = []

    def progress(done: int, total: int) -> None:
        counted.append((done, total))
        (folder / "bob.txt").unlink()

    with pytest.raises(InvalidInput, match=r"bob\.txt changed while it was read"):
        await review([str(folder)], Recognizer(), Settings(), progress)
    assert counted == [(1, 2)]


def test_accepted_names_follow_what_is_listed_and_nothing_is_doubled(tmp_path: Path) -> None:
    path = tmp_path / "curated.yaml"
    old = "# ours\n- name: Acme\n  type: Firm\n  aliases: [ACME Inc]  # as signed\n"
    path.write_text(old)
    given, _ = decisions(["Dutch=Nationality", "acme inc", "Dutch=Language", "Zorblax"], [])
    added = CuratedList(path).accept(given)
    assert added == [DUTCH, CuratedEntity(name="Zorblax", type="Name")]
    more = "- name: Dutch\n  type: Nationality\n- name: Zorblax\n  type: Name\n"
    assert path.read_text() == old + more
    assert CuratedList(path).accept(given) == []
    assert path.read_text() == old + more
    found = Recognizer.load(path).find("a Dutch band with Zorblax")
    assert [(one.name, one.method) for one in found] == [
        ("Dutch", "curated"),
        ("Zorblax", "curated"),
    ]


@pytest.mark.parametrize(
    "old", ["[]\n", "[{name: Acme, type: Firm}]", "  - name: Acme\n    type: Firm\n", "# none yet"]
)
def test_a_list_of_any_layout_is_added_to(tmp_path: Path, old: str) -> None:
    path = tmp_path / "curated.yaml"
    path.write_text(old)
    CuratedList(path).accept([DUTCH])
    found = Recognizer.load(path).find("Acme sold a Dutch clock", known=[])
    assert ("Dutch", "Nationality") in [(one.name, one.type) for one in found]
    assert ("Acme" in path.read_text()) == ("Acme" in old)


def test_the_file_and_its_folder_are_made_and_what_looks_like_another_value_stays_a_name(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lists" / "curated.yaml"
    CuratedList(path).accept(decisions(["1994", "No", "A=B=Song", "Müller"], [])[0])
    assert [one.name for one in Recognizer.load(path).find("Müller")] == ["Müller"]
    assert "Müller" in path.read_text("utf-8")
    assert CuratedList(path).decided == {"1994", "no", "a b", "muller"}


def test_rejected_names_are_kept_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "curated.yaml"
    CuratedList(path).reject(["The Dutch"])
    CuratedList(path).reject(["Zorblax", "dutch"])
    assert (tmp_path / "curated.yaml.rejected").read_text() == "dutch\nzorblax\n"
    assert CuratedList(path).decided == {"dutch", "zorblax"}
    assert not path.exists()


@pytest.mark.parametrize(
    ("accept", "reject", "sentence"),
    [
        (["=Type"], [], "'=Type' cannot be accepted: write NAME or NAME=TYPE"),
        (["Name="], [], "'Name=' cannot be accepted"),
        (["!!!"], [], "with a letter or digit in it"),
        ([], [" "], "The name to reject is empty"),
        (["Dutch=X"], ["the dutch"], "'Dutch' cannot be both accepted and rejected"),
    ],
)
def test_what_cannot_be_decided_is_said(
    accept: list[str], reject: list[str], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        decisions(accept, reject)


def test_a_broken_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "curated.yaml"
    path.write_text("- name: Acme\n")
    with pytest.raises(InvalidInput, match=r"must be a list of .* at 0\.type"):
        CuratedList(path)
    path.unlink()
    (tmp_path / "curated.yaml.rejected").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"rejected names .* cannot be read"):
        CuratedList(path)
