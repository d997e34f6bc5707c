"""Names of several words, short words and signs, written a little differently or not in full."""

from __future__ import annotations

import random

import pytest
from rapidfuzz.distance import OSA

from clew.stores.records import NameMatch

from .conftest import Stores
from .drafts import chunk, document, reader

ACCESS = reader()


def told(matches: list[NameMatch]) -> list[tuple[str, str, str]]:
    return [(match["query"], match["entity"]["name"], match["via"]) for match in matches]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("bob turing", True),
        ("bob turimg", True),
        ("bobb turing", False),  # both words must be long enough
        ("bib turing", False),
        ("deep c++ thougth", True),  # what is no word of letters must be the same
        ("deep c+ thought", False),
    ],
)
async def test_beside_a_word_with_a_typo_the_short_and_odd_ones_must_be_the_same(
    stores: Stores, asked: str, found: bool
) -> None:
    await stores.write(
        document("one", chunk("x", ["Turing", "Bob", "Bob Turing", "Deep C++ Thought"]))
    )
    matches = await stores.entities.find_similar([asked], limit=5, access=ACCESS)
    name = {"b": "Bob Turing", "d": "Deep C++ Thought"}.get(asked[0], "")
    assert told(matches) == ([(asked, name, "typo")] if found else [])
    assert {match["score"] for match in matches} <= {0.85}


def alike(asked: str, known: str) -> bool:
    """Word by word in order: the same, or one typo apart when both are long enough for it."""
    pairs = [*zip(asked.split(), known.split(), strict=False)]
    return len(asked.split()) == len(known.split()) == len(pairs) and all(
        one == other or (min(len(one), len(other)) >= 4 and OSA.distance(one, other) <= 1)
        for one, other in pairs
    )


@pytest.mark.parametrize("seed", range(3))
async def test_typos_in_names_of_several_words_are_found_among_what_may_be_read(
    stores: Stores, seed: int
) -> None:
    rng = random.Random(seed)

    def name() -> str:
        words = ["".join(rng.choices("kxz", k=rng.randint(3, 5))) for _ in range(rng.randint(1, 3))]
        return " ".join(words)

    names = sorted({name() for _ in range(200)})
    await stores.write(
        document("one", *(chunk(f"{n}", rng.sample(names, 60)) for n in range(4))),
        document("closed", chunk("x", names[::2]), acl=["eve"]),
    )
    entities = await stores.rows("select id, norm, df from entities order by df desc, id")
    for access in (ACCESS, reader("eve")):
        readable = {
            row["name"]
            for row in await stores.entities.mentions_in(
                [*(await stores.ids()).values()], access=access
            )
        }
        known = [(id_, norm) for id_, norm, _ in entities if norm in readable]
        # One long word, so that there is something to look for whatever else is asked.
        asked = [name() for _ in range(40)] + ["kkkkxxxx"]
        for limit in (1, 5, 1000):
            matches = await stores.entities.find_similar(asked, limit=limit, access=access)
            assert [(match["query"], match["entity"]["id"]) for match in matches] == [
                (one, id_)
                for one in asked
                for id_ in [id_ for id_, norm in known if alike(one, norm)][:limit]
            ]


async def test_a_short_name_that_is_known_as_it_stands_is_found_whatever_else_is_asked(
    stores: Stores,
) -> None:
    await stores.write(document("one", chunk("x", ["Bob", "Turing"])))
    for names in (["bob", "turimg"], ["bob"]):
        found = await stores.entities.find_similar(names, limit=5, access=ACCESS)
        assert told(found)[:1] == [("bob", "Bob", "typo")]


@pytest.mark.parametrize(
    "odd",
    ["!!!", "\\/", "'", "c++", ":*", "(a|b)", '"', "{}", pytest.param("k" * 5_000, id="long")],
)
async def test_a_name_with_signs_is_found_by_the_very_same_signs(stores: Stores, odd: str) -> None:
    named = ["Turing", "!!!", "\\/", "C++", "'", "Turing C++ Reader"]
    await stores.write(document("one", chunk("x", named)))
    names = [odd, f"turing {odd}", "turimg"]
    assert told(await stores.entities.find_similar(names, limit=5, access=ACCESS))[-1:] == [
        ("turimg", "Turing", "typo")
    ]
    found = told(await stores.entities.find_text(names, limit=3, access=ACCESS))
    own = [(odd, name, "text") for name in named[1:5] if name.lower() == odd]
    reader_ = [(asked, "Turing C++ Reader", "text") for asked in names[:2]]
    assert found == own + (reader_ if odd == "c++" else [])
    found = told(await stores.entities.find_exact(names, access=ACCESS))
    assert found == [(odd, name, "exact") for _, name, _ in own]
    assert await stores.documents.delete(["one"], access=ACCESS) == 1
