"""Names, and the entities they mean."""

from __future__ import annotations

import random

import pytest
from rapidfuzz.distance import DamerauLevenshtein

from clew.stores.access import Access
from clew.stores.records import NameMatch
from clew.tests.stores.postgres.drafts import (
    NAME,
    chunk,
    document,
    mention,
    reader,
    relation,
)

from .backends import Backend

ACCESS = reader()


def told(matches: list[NameMatch]) -> list[tuple[str, str, str]]:
    return [(match["query"], match["entity"]["name"], match["via"]) for match in matches]


async def test_a_name_is_found_as_it_is_and_by_its_aliases(backend: Backend) -> None:
    await backend.write(
        document(
            "one",
            chunk("x", ["Ada Lovelace", "Countess"]),
            aliases={"Ada Lovelace": ["The Countess", "Lady Ada", "ADA  Lovelace"]},
        ),
        document("two", chunk("y", ["Ada Lovelace"]), aliases={"Ada Lovelace": ["Lady Ada"]}),
    )
    matches = await backend.entities.find_exact(
        ["ada lovelace", "countess", "lady ada", "nobody"], access=ACCESS
    )
    assert told(matches) == [
        ("ada lovelace", "Ada Lovelace", "exact"),
        ("countess", "Countess", "exact"),
        ("countess", "Ada Lovelace", "alias"),
        ("lady ada", "Ada Lovelace", "alias"),
    ]
    assert [match["score"] for match in matches] == [1.0, 1.0, 0.95, 0.95]
    known = await backend.known()
    ada = {"id": known.entity("Ada Lovelace"), "name": "Ada Lovelace", "type": NAME, "df": 2}
    assert matches[0]["entity"] == ada
    assert await backend.entities.find_exact(["countess"], access=reader(namespace="no")) == []


async def test_one_name_of_several_types_is_several_entities(backend: Backend) -> None:
    await backend.write(document("one", chunk("x", [mention("Java", kind="ISLAND"), "Java"])))
    found = await backend.entities.find_exact(["java"], access=ACCESS)
    assert {match["entity"]["type"] for match in found} == {"ISLAND", NAME}
    ids = [match["entity"]["id"] for match in found]
    assert ids == sorted(ids)


async def test_an_alias_is_as_secret_as_the_document_that_gave_it(backend: Backend) -> None:
    await backend.write(
        document("open", chunk("x", ["Ada"])),
        document("secret", chunk("y", ["Ada"]), aliases={"Ada": ["Mole"]}, acl=["eve"]),
    )
    assert told(await backend.entities.find_exact(["mole"], access=reader("eve"))) == [
        ("mole", "Ada", "alias")
    ]
    assert await backend.entities.find_exact(["mole"], access=ACCESS) == []
    await backend.delete("secret")
    assert await backend.entities.find_exact(["mole"], access=reader("eve")) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("turing machine", True),
        ("turng machine", True),
        ("tturing machine", True),
        ("turinq machine", True),
        ("turing machien", True),  # two neighbours swapped are one typo
        ("turig machne", True),  # one a word
        ("machine turing", False),  # words in their order
        ("turng", False),
        ("turng machine shop", False),
        ("trng machine", False),
        ("turing maschinen", False),
        ("secrets", False),
        ("turing 1937", True),  # a word of no letters is equal or another
        ("turimg 1937", True),
        ("turing 1938", False),
        ("turing 193", False),
        ("bob", True),
        ("bobb", False),  # three letters are too few on either side
        ("bib", False),
        ("", False),
    ],
)
async def test_a_word_may_have_one_typo_when_it_is_long_enough(
    backend: Backend, asked: str, found: bool
) -> None:
    await backend.write(
        document("open", chunk("x", ["Turing Machine", "Bob", "Turing 1937"])),
        document("closed", chunk("y", ["Secret"]), acl=["eve"]),
    )
    matches = await backend.entities.find_similar([asked], limit=5, access=ACCESS)
    name = {"b": "Bob"}.get(asked[:1], "Turing 1937" if "19" in asked else "Turing Machine")
    assert told(matches) == ([(asked, name, "typo")] if found else [])


@pytest.mark.parametrize("length", [3, 4, 64, 65])
async def test_a_word_of_4_to_64_letters_may_hold_a_typo(backend: Backend, length: int) -> None:
    await backend.write(document("one", chunk("x", ["k" * length])))
    matches = await backend.entities.find_similar(
        ["k" * (length - 1) + "x"], limit=9, access=ACCESS
    )
    assert len(matches) == (4 <= length <= 64)


async def test_typos_are_found_wherever_the_edit_distance_says_one(backend: Backend) -> None:
    rng = random.Random(4)

    def word() -> str:
        return "".join(rng.choices("kx", k=rng.randint(4, 6)))

    names = sorted({word() for _ in range(40)})
    often = rng.sample(names, 8)
    await backend.write(document("one", chunk("x", names), chunk("y", often)))
    asked = sorted({word() for _ in range(40)} | {"oooo"})
    for limit in (2, 99):
        matches = await backend.entities.find_similar(asked, limit=limit, access=ACCESS)
        assert [match["query"] for match in matches] == sorted(m["query"] for m in matches)
        for one in asked:
            near = {name for name in names if DamerauLevenshtein.distance(one, name) <= 1}
            found = [match["entity"] for match in matches if match["query"] == one]
            assert {entity["name"] for entity in found} <= near
            assert len(found) == min(limit, len(near))
            assert found == sorted(found, key=lambda entity: (-entity["df"], entity["id"]))
            if limit < len(near & {*often}):
                assert {entity["df"] for entity in found} == {2}


@pytest.mark.parametrize(
    "odd", ["!!!", "\\/", "'", "c++", ":*", "(a|b)", pytest.param("k" * 5_000, id="long")]
)
async def test_signs_in_a_name_do_not_break_a_search(backend: Backend, odd: str) -> None:
    await backend.write(document("one", chunk("x", ["Turing", "!!!", "\\/", "C++", "'"])))
    names = [odd, f"turing {odd}", "turimg"]
    matches = await backend.entities.find_similar(names, limit=5, access=ACCESS)
    assert told(matches)[-1:] == [("turimg", "Turing", "typo")]
    await backend.entities.find_text(names, limit=3, access=ACCESS)
    await backend.entities.find_exact(names, access=ACCESS)
    assert await backend.delete("one") == 1


async def test_text_finds_the_shortest_names_first(backend: Backend) -> None:
    await backend.write(
        document("one", chunk("x", ["Opera Ballet of Paris", "Paris Commune", "Paris", "Opera"])),
        document("two", chunk("y", ["Paris Opera"]), chunk("z", ["Paris Opera"])),
        document("secret", chunk("w", [mention("Paris", kind="SPY")]), acl=["eve"]),
    )
    matches = await backend.entities.find_text(
        ["opera paris", "none", "paris", "paris none", "", "par"], limit=3, access=ACCESS
    )
    assert told(matches) == [
        ("opera paris", "Paris Opera", "text"),
        ("opera paris", "Opera Ballet of Paris", "text"),
        ("paris", "Paris", "text"),
        ("paris", "Paris Opera", "text"),  # as short as the Commune, and mentioned more often
        ("paris", "Paris Commune", "text"),
    ]
    assert [match["score"] for match in matches] == pytest.approx([0.7, 0.35, 0.7, 0.35, 0.35])
    assert len(await backend.entities.find_text(["paris"], limit=1, access=ACCESS)) == 1


async def test_asking_a_word_often_makes_a_name_no_better_than_asking_for_all_of_it(
    backend: Backend,
) -> None:
    await backend.write(document("one", chunk("x", ["Paris Opera"])))
    matches = await backend.entities.find_text(
        ["paris", "paris paris", "paris paris paris"], limit=3, access=ACCESS
    )
    assert [match["score"] for match in matches] == pytest.approx([0.35, 0.7, 0.7])


async def test_a_word_with_signs_must_be_in_the_name_as_it_is(backend: Backend) -> None:
    await backend.write(document("one", chunk("x", ["C++ Primer", "C Primer"])))
    matches = await backend.entities.find_text(["c++", "primer c"], limit=3, access=ACCESS)
    assert told(matches) == [("c++", "C++ Primer", "text"), ("primer c", "C Primer", "text")]


async def test_an_entity_keeps_its_first_spelling_while_it_lives(backend: Backend) -> None:
    async def spelling() -> set[str]:
        found = await backend.entities.find_exact(["cafe de paris"], access=ACCESS)
        return {match["entity"]["name"] for match in found}

    await backend.write(document("one", chunk("x", ["The Café de Paris"])))
    await backend.write(document("two", chunk("y", ["café de  paris"])))
    assert await spelling() == {"The Café de Paris"}
    await backend.delete("one")
    assert await spelling() == {"The Café de Paris"}
    await backend.delete("two")
    assert await spelling() == set()
    await backend.write(document("two", chunk("y", ["café de  paris"])))
    assert await spelling() == {"café de  paris"}


async def test_a_chunks_subjects_come_first_then_what_it_says_most_often(
    backend: Backend,
) -> None:
    await backend.write(
        document(
            "one",
            chunk("x", ["Ada", mention("Bob", count=3), mention("Eve", subject=True), "Rome"]),
            chunk("y", [mention("Rome", count=2)]),
        ),
        document("closed", chunk("z", ["Rome"]), acl=["eve"]),
    )
    known = await backend.known()
    rows = await backend.entities.mentions_in([*known.passages, 10**9], access=ACCESS)
    assert rows == sorted(
        rows, key=lambda row: (row["chunk"], not row["subject"], -row["count"], row["id"])
    )
    told = {
        text: [(r["name"], r["count"], r["subject"]) for r in rows if r["chunk"] == id_]
        for id_, text in ((id_, known.text(id_)) for id_ in known.passages)
    }
    assert told["x"][:2] == [("Eve", 1, True), ("Bob", 3, False)]
    assert sorted(told["x"][2:]) == [("Ada", 1, False), ("Rome", 1, False)]
    assert (told["y"], told["z"]) == ([("Rome", 2, False)], [])
    assert {row["df"] for row in rows if row["name"] == "Rome"} == {3}


async def test_the_size_of_a_namespace_does_not_depend_on_who_asks(backend: Backend) -> None:
    both = [relation("Ada", "MET", "Bob"), relation("Ada", "LEFT", "Bob")]
    await backend.write(document("one", chunk("x", ["Ada"]), acl=["eve"]), namespace="b")
    await backend.write(
        document("one", chunk("x", ["Ada", "Bob"]), "y", relations=both), namespace="a"
    )
    assert await backend.entities.stats(access=Access(("b", "none", "a"))) == [
        {
            "namespace": "a",
            "version": 1,
            "documents": 1,
            "chunks": 2,
            "entities": 2,
            "relationships": 2,
        },
        {
            "namespace": "b",
            "version": 1,
            "documents": 1,
            "chunks": 1,
            "entities": 1,
            "relationships": 0,
        },
    ]
    await backend.delete("one", namespace="b")
    assert await backend.entities.stats(access=Access(("b",))) == [
        {
            "namespace": "b",
            "version": 2,
            "documents": 0,
            "chunks": 0,
            "entities": 0,
            "relationships": 0,
        }
    ]
