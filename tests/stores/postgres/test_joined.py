"""What several say of the same is joined, and is no more than what is left when one leaves."""

from __future__ import annotations

from typing import Any

import pytest

from clew.stores.records import DocumentDraft

from .conftest import Stores, consistent
from .drafts import chunk, document, mention, reader, relation

ACCESS = reader()


async def test_spellings_of_one_name_are_one_entity(stores: Stores) -> None:
    await stores.write(
        document("one", chunk("x", ["The Café de Paris"])),
        document("two", chunk("y", ["café de  paris"])),
    )
    (entity,) = (await stores.snapshot())["entities"]
    assert entity == ("cafe de paris", "NAME", "The Café de Paris", 2)


async def test_two_spellings_in_one_chunk_join_their_places(stores: Stores) -> None:
    full, short = mention("The Café de Paris"), mention("cafe de paris", subject=True)
    full["offsets"], short["offsets"] = [40, 3], [20, 3]
    other = mention("CAFÉ DE PARIS", kind="PLACE", count=2)
    await stores.write(document("one", chunk("x", [full, short, other]), chunk("y", [full])))
    kept = await stores.snapshot()
    assert kept["mentions"] == [
        ("cafe de paris", "NAME", "one", 0, 3, [3, 20, 40], True, ["public"]),
        ("cafe de paris", "NAME", "one", 1, 2, [3, 40], False, ["public"]),
        ("cafe de paris", "PLACE", "one", 0, 2, [0, 1], False, ["public"]),
    ]
    assert [row[:2] + row[3:] for row in kept["entities"]] == [
        ("cafe de paris", "NAME", 2),
        ("cafe de paris", "PLACE", 1),
    ]
    consistent(kept)


async def test_a_mention_without_a_place_counts_once(stores: Stores) -> None:
    nowhere = mention("Ada")
    nowhere["offsets"] = []
    await stores.write(document("one", chunk("x", [nowhere])))
    assert [row[4:6] for row in (await stores.snapshot())["mentions"]] == [(1, [])]


async def test_a_relation_is_no_surer_than_the_surest_that_is_left_of_it(stores: Stores) -> None:
    def saying(key: str, confidence: float, *, places: int = 1, date: str) -> DocumentDraft:
        chunks = [chunk(f"{key}{n}", ["Ada", "Bob"]) for n in range(places)]
        met = relation("Ada", "MET", "Bob", confidence=confidence, evidence=range(places))
        return document(key, *chunks, relations=[met], date=date, acl=[key])

    async def told() -> tuple[Any, ...]:
        kept = await stores.snapshot()
        consistent(kept)
        ((*_, count, weight, confidence, first, last),) = kept["relationships"]
        readers = [row[-1] for row in kept["edges"] if row[3]]
        return confidence, count, weight, str(first), str(last), readers

    await stores.write(
        saying("weak", 0.25, places=2, date="1900-01-01"),
        saying("sure", 0.75, date="1800-01-01"),
        saying("some", 0.5, date="1850-01-01"),
    )
    assert await told() == (
        0.75,
        4,
        pytest.approx(0.6),
        "1800-01-01",
        "1900-01-01",
        [["some"], ["sure"], ["weak"]],
    )
    await stores.documents.delete(["sure"], access=ACCESS)
    assert await told() == (
        0.5,
        3,
        pytest.approx(0.375),
        "1850-01-01",
        "1900-01-01",
        [["some"], ["weak"]],
    )
    await stores.write(saying("some", 0.125, date="1950-01-01"))
    assert await told() == (
        0.25,
        3,
        pytest.approx(0.1875),
        "1900-01-01",
        "1950-01-01",
        [["some"], ["weak"]],
    )
    await stores.write(saying("some", 1.0, date="1950-01-01"))
    assert (await told())[:3] == (1.0, 3, 0.75)


async def test_a_chunk_that_says_it_twice_is_as_sure_as_the_surer(stores: Stores) -> None:
    said = [(0.5, [0, 1]), (0.75, [1]), (0.25, [0, 0, 1])]
    relations = [relation("Ada", "MET", "Bob", confidence=c, evidence=e) for c, e in said]
    await stores.write(document("one", chunk("x", ["Ada", "Bob"]), "y", relations=relations))
    kept = await stores.snapshot()
    assert [row[3:] for row in kept["evidence"]] == [("one", 0, 0.5), ("one", 1, 0.75)]
    consistent(kept)


async def test_readers_are_one_audience_however_they_are_named(stores: Stores) -> None:
    lists = {
        "a": ["public"],
        "b": ["eve", "public"],
        "c": ["public", "ada", "public"],
        "d": ["bob", "ada"],
        "e": ["ada", "bob", "ada"],
        "f": ["ada"],
    }
    for key, acl in lists.items():
        await stores.write(document(key, chunk(key, ["Ada"]), "more", acl=acl))

    async def audiences() -> dict[tuple[str, ...], int]:
        kept = await stores.snapshot()
        consistent(kept)
        return {tuple(principals): chunks for principals, chunks in kept["audiences"]}

    assert await audiences() == {("public",): 6, ("ada", "bob"): 4, ("ada",): 2}
    passages = await stores.rows("select key, acl from documents order by key")
    assert dict(passages) == {key: sorted({*acl}) for key, acl in lists.items()}
    # An audience without documents is gone, whether they were deleted or given to others.
    await stores.documents.delete(["a", "d", "f"], access=ACCESS)
    assert await audiences() == {("public",): 4, ("ada", "bob"): 2}
    await stores.write(document("e", chunk("e", ["Ada"]), acl=["eve"]))
    assert await audiences() == {("public",): 4, ("eve",): 1}
    await stores.documents.delete(["b", "c", "e"], access=ACCESS)
    assert await audiences() == {}


async def test_an_audience_lasts_as_long_as_a_document_though_it_has_no_chunks(
    stores: Stores,
) -> None:
    await stores.write(document("bare", acl=["ada"]), document("full", "x", acl=["ada"]))
    await stores.documents.delete(["full"], access=ACCESS)
    kept = await stores.snapshot()
    assert kept["audiences"] == [(["ada"], 0)]
    consistent(kept)
    await stores.documents.delete(["bare"], access=ACCESS)
    assert (await stores.snapshot())["audiences"] == []
