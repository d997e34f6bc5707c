"""Names, and the entities they mean."""

from __future__ import annotations

import numpy as np
import pytest

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
