"""Names, and the entities they mean."""

from __future__ import annotations

import random

import numpy as np
import pytest
from rapidfuzz.distance import DamerauLevenshtein

from clew.stores.access import Access
from clew.stores.records import NameMatch

from .conftest import Stores
from .drafts import NAME, chunk, cosine, document, mention, reader, stored, unit

ACCESS = reader()


def told(matches: list[NameMatch]) -> list[tuple[str, str, str]]:
    return [(match["query"], match["entity"]["name"], match["via"]) for match in matches]


async def test_a_name_is_found_as_it_is_and_by_its_aliases(stores: Stores) -> None:
    await stores.write(
        document(
            "one",
            chunk("x", ["Ada Lovelace", "Countess"]),
            aliases={"Ada Lovelace": ["The Countess", "Lady Ada", "ADA  Lovelace"]},
        ),
        document("two", chunk("y", ["Ada Lovelace"]), aliases={"Ada Lovelace": ["Lady Ada"]}),
    )
    matches = await stores.entities.find_exact(
        ["nobody", "lady ada", "countess", "ada lovelace"], access=ACCESS
    )
    assert told(matches) == [
        ("ada lovelace", "Ada Lovelace", "exact"),
        ("countess", "Countess", "exact"),
        ("countess", "Ada Lovelace", "alias"),
        ("lady ada", "Ada Lovelace", "alias"),
    ]
    assert [match["score"] for match in matches] == [1.0, 1.0, 0.95, 0.95]
    ids = await stores.entity_ids()
    assert matches[0]["entity"] == {
        "id": ids["Ada Lovelace"],
        "name": "Ada Lovelace",
        "type": NAME,
        "df": 2,
    }
    assert await stores.entities.find_exact([], access=ACCESS) == []
    assert await stores.entities.find_exact(["countess"], access=reader(namespace="no")) == []


async def test_one_name_of_several_types_is_several_entities(stores: Stores) -> None:
    await stores.write(document("one", chunk("x", [mention("Java", kind="ISLAND"), "Java"])))
    found = await stores.entities.find_exact(["java"], access=ACCESS)
    assert {match["entity"]["type"] for match in found} == {"ISLAND", NAME}
    ids = [match["entity"]["id"] for match in found]
    assert ids == sorted(ids)


async def test_an_alias_is_as_secret_as_the_document_that_gave_it(stores: Stores) -> None:
    await stores.write(
        document("open", chunk("x", ["Ada"])),
        document("secret", chunk("y", ["Ada"]), aliases={"Ada": ["Mole"]}, acl=["eve"]),
    )
    assert told(await stores.entities.find_exact(["mole"], access=reader("eve"))) == [
        ("mole", "Ada", "alias")
    ]
    assert await stores.entities.find_exact(["mole"], access=ACCESS) == []
    await stores.documents.delete(["secret"], access=ACCESS)
    assert await stores.entities.find_exact(["mole"], access=reader("eve")) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("turing machine", True),
        ("turng machine", True),
        ("tturing machine", True),
        ("turinq machine", True),
        ("turing machien", True),  # two neighbours swapped are one typo
        ("turig machne", True),  # one a word
        ("machine turing", True),  # words, not their order
        ("turng", False),
        ("turng machine shop", False),
        ("trng machine", False),
        ("turing maschinen", False),
        ("bib", False),
        ("bobb", True),  # three letters may be reached from four
        ("secrets", False),
    ],
)
async def test_a_word_may_have_one_typo_when_it_is_long_enough(
    stores: Stores, asked: str, found: bool
) -> None:
    await stores.write(
        document("open", chunk("x", ["Turing Machine", "Bob"])),
        document("closed", chunk("y", ["Secret"]), acl=["eve"]),
    )
    matches = await stores.entities.find_similar([asked], access=ACCESS)
    name = "Bob" if asked.startswith("b") else "Turing Machine"
    assert told(matches) == ([(asked, name, "typo")] if found else [])


async def test_typos_are_found_wherever_the_edit_distance_says_one(stores: Stores) -> None:
    rng = random.Random(4)

    def word() -> str:
        return "".join(rng.choices("kx", k=rng.randint(4, 6)))

    names = sorted({word() for _ in range(40)})
    await stores.write(document("one", chunk("x", names)))
    asked = sorted({word() for _ in range(40)} | {"oooo"})
    matches = await stores.entities.find_similar(asked, access=ACCESS)
    for one in asked:
        near = {name for name in names if DamerauLevenshtein.distance(one, name) <= 1}
        found = [match["entity"]["name"] for match in matches if match["query"] == one]
        assert {*found} <= near
        assert len(found) == len({*found}) == min(5, len(near))


@pytest.mark.parametrize(
    "odd", ["!!!", "\\/", "'", "c++", ":*", "(a|b)", pytest.param("k" * 5_000, id="long")]
)
async def test_signs_in_a_name_do_not_break_a_search(stores: Stores, odd: str) -> None:
    await stores.write(document("one", chunk("x", ["Turing", "!!!", "\\/", "C++", "'"])))
    names = [odd, f"turing {odd}", "turimg"]
    assert told(await stores.entities.find_similar(names, access=ACCESS))[-1:] == [
        ("turimg", "Turing", "typo")
    ]
    await stores.entities.find_text(names, limit=3, access=ACCESS)
    await stores.entities.find_exact(names, access=ACCESS)
    assert await stores.documents.delete(["one"], access=ACCESS) == 1


async def test_text_finds_the_tightest_names_first(stores: Stores) -> None:
    await stores.write(
        document("one", chunk("x", ["Opera Ballet of Paris", "Paris Commune", "Paris", "Opera"])),
        document("two", chunk("y", ["Paris Opera"]), chunk("z", ["Paris Opera"])),
        document("secret", chunk("w", [mention("Paris", kind="SPY")]), acl=["eve"]),
    )
    matches = await stores.entities.find_text(
        ["opera paris", "none", "paris", "paris none"], limit=3, access=ACCESS
    )
    assert told(matches) == [
        ("opera paris", "Paris Opera", "text"),
        ("opera paris", "Opera Ballet of Paris", "text"),
        ("paris", "Paris", "text"),
        ("paris", "Paris Opera", "text"),  # as tight as the Commune, and mentioned more often
        ("paris", "Paris Commune", "text"),
    ]
    assert [match["score"] for match in matches] == pytest.approx([0.7, 0.35, 0.7, 0.35, 0.35])
    assert len(await stores.entities.find_text(["paris"], limit=1, access=ACCESS)) == 1


async def test_nearest_keeps_to_the_least_cosine_and_the_limit(stores: Stores) -> None:
    rng = np.random.default_rng(5)
    asked = np.stack([unit("one"), unit("two")])
    names = [f"Name {n}" for n in range(30)]
    vectors = {
        name: unit(name) * 0.4 + asked[n % 2] * rng.uniform(-1, 1) for n, name in enumerate(names)
    }
    await stores.write(
        document("open", chunk("x", names[:20]), vectors=vectors),
        document("closed", chunk("y", names[20:]), vectors=vectors, acl=["eve"]),
    )
    for access, known in ((ACCESS, names[:20]), (reader("eve"), names)):
        for limit, least in ((3, -1.0), (50, 0.2), (50, 0.99)):
            matches = await stores.entities.find_nearest(
                ["first", "second"], asked, limit=limit, min_cosine=least, access=access
            )
            for query, row in zip(["first", "second"], asked, strict=True):
                expected = sorted(
                    ((cosine(stored(row), stored(vectors[name])), name) for name in known),
                    reverse=True,
                )
                expected = [(c, name) for c, name in expected if c >= least][:limit]
                found = [match for match in matches if match["query"] == query]
                assert [match["entity"]["name"] for match in found] == [n for _, n in expected]
                assert [match["score"] for match in found] == pytest.approx(
                    [c for c, _ in expected], abs=1e-5
                )
                assert {match["via"] for match in found} <= {"vector"}


async def test_similarity_is_cosine_best_first(stores: Stores) -> None:
    names = [f"Name {n}" for n in range(12)]
    vectors = {name: unit(n // 2) for n, name in enumerate(names)}  # in pairs, to have ties
    await stores.write(
        document("open", chunk("x", names[:10]), vectors=vectors),
        document("closed", chunk("y", names[10:]), vectors=vectors, acl=["eve"]),
    )
    ids, asked = await stores.entity_ids(), unit("asked")
    hits = await stores.entities.similarity(
        [*reversed(ids.values()), 10**9], embedding=asked, access=ACCESS
    )
    expected = {ids[name]: cosine(stored(asked), stored(vectors[name])) for name in names[:10]}
    assert [hit["id"] for hit in hits] == sorted(
        expected, key=lambda i: (-round(expected[i], 9), i)
    )
    assert [hit["score"] for hit in hits] == pytest.approx(
        sorted(expected.values(), reverse=True), abs=1e-5
    )


async def test_what_has_no_vector_is_near_nothing_until_a_document_brings_one(
    stores: Stores,
) -> None:
    bare = document("bare", chunk("x", ["Ada", "Bob"]))
    bare["entities"][0]["embedding"] = ""
    await stores.write(bare)
    ids, asked = await stores.entity_ids(), unit("asked")

    async def near() -> set[str]:
        matches = await stores.entities.find_nearest(
            ["x"], asked[None], limit=9, min_cosine=-1.0, access=ACCESS
        )
        hits = await stores.entities.similarity([*ids.values()], embedding=asked, access=ACCESS)
        assert {hit["id"] for hit in hits} == {match["entity"]["id"] for match in matches}
        return {match["entity"]["name"] for match in matches}

    assert await near() == {"Bob"}
    await stores.write(document("full", chunk("y", ["Ada"])))
    assert await near() == {"Ada", "Bob"}


async def test_a_chunks_subjects_come_first_then_what_it_says_most_often(stores: Stores) -> None:
    await stores.write(
        document(
            "one",
            chunk("x", ["Ada", mention("Bob", count=3), mention("Eve", subject=True), "Rome"]),
            chunk("y", [mention("Rome", count=2)]),
        ),
        document("closed", chunk("z", ["Rome"]), acl=["eve"]),
    )
    chunks = await stores.ids()
    rows = await stores.entities.mentions_in([*chunks.values(), 10**9], access=ACCESS)
    assert [(row["chunk"], row["name"], row["count"], row["subject"]) for row in rows] == [
        (chunks["x"], "Eve", 1, True),
        (chunks["x"], "Bob", 3, False),
        (chunks["x"], "Ada", 1, False),
        (chunks["x"], "Rome", 1, False),
        (chunks["y"], "Rome", 2, False),
    ]
    assert {row["df"] for row in rows if row["name"] == "Rome"} == {3}


async def test_the_size_of_a_namespace_does_not_depend_on_who_asks(stores: Stores) -> None:
    await stores.write(document("one", chunk("x", ["Ada"]), acl=["eve"]), namespace="b")
    await stores.write(document("one", chunk("x", ["Ada", "Bob"]), "y"), namespace="a")
    assert await stores.entities.stats(access=Access(("b", "none", "a"))) == [
        {"namespace": "a", "documents": 1, "chunks": 2, "entities": 2, "relationships": 0},
        {"namespace": "b", "documents": 1, "chunks": 1, "entities": 1, "relationships": 0},
    ]
