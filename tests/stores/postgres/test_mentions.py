"""Mentions of entities against the rows, and which chunks they are taken from."""

from __future__ import annotations

import random

import pytest

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.postgres import graph
from clew.stores.walk import Walk

from .conftest import Stores
from .drafts import chunk, document, mention, reader

READABLE = """
    select m.chunk_id, m.entity_id, m.count, m.subject, c.entity_count
      from mentions m join chunks c on c.id = m.chunk_id join documents d on d.id = c.document_id
     where d.namespace = any(%(namespaces)s) and d.acl && %(principals)s
     order by m.chunk_id, m.entity_id
"""
WEIGHTS = [1.0, 0.5, 0.25, 0.125]
"""Their sums are exact."""


@pytest.mark.parametrize("seed", range(3))
async def test_mentions_are_those_of_a_plain_computation_over_the_rows(
    stores: Stores, seed: int
) -> None:
    rng = random.Random(seed)
    names = [f"n{n}" for n in range(12)]
    for namespace in ("one", "two"):
        for key, acl in enumerate([["public"], ["ada"], ["ada", "bob"], ["eve"], ["public"]]):
            chunks = [
                chunk(
                    f"{key}{n}",
                    [
                        mention(name, count=rng.randint(1, 3), subject=rng.random() < 0.2)
                        for name in rng.sample(names, rng.randint(0, 5))
                    ],
                )
                for n in range(8)
            ]
            await stores.write(document(f"{key}", *chunks, acl=acl), namespace=namespace)
    places = [id_ for (id_,) in await stores.rows("select id from chunks order by id")]
    entities = [id_ for (id_,) in await stores.rows("select id from entities order by id")]
    for access in (
        reader(namespace="one"),
        reader("ada", namespace="two"),
        Access(("one", "two"), ("bob", "ada")),
        Access(("none",), ("ada",)),
    ):
        readable = await stores.rows(
            READABLE, {"namespaces": [*access.namespaces], "principals": [*access.principals]}
        )
        for limit in (1, 2, 5, 1000):
            for always in ([], rng.sample(places, 6), [10**9]):
                weights = {id_: rng.choice(WEIGHTS) for id_ in rng.sample(entities, 5)}
                asked = [row for row in readable if row[1] in weights]
                weight = dict[int, float]()
                for row in asked:
                    weight[row[0]] = weight.get(row[0], 0.0) + weights[row[1]]
                best = sorted(weight, key=lambda id_: (-weight[id_], id_))[:limit]
                told = await stores.graph.mentions_of(
                    weights | {10**9: 1.0}, limit=limit, always=always, access=access
                )
                assert [
                    (m["chunk"], m["entity"], m["count"], m["subject"], m["chunk_entities"])
                    for m in told
                ] == [row for row in asked if row[0] in {*best, *always}]


async def test_of_equally_heavy_chunks_the_first_are_taken(stores: Stores) -> None:
    texts = [f"t{n}" for n in range(9)]
    random.Random(1).shuffle(texts)
    loud = {text: mention("a", count=n + 1, subject=n == 4) for n, text in enumerate(texts)}
    await stores.write(document("one", *(chunk(text, [one]) for text, one in loud.items())))
    ids, places = await stores.entity_ids(), sorted((await stores.ids()).values())
    for limit in (1, 3, 9):
        told = await stores.graph.mentions_of(
            {ids["a"]: 0.5}, limit=limit, always=[], access=reader()
        )
        assert [one["chunk"] for one in told] == places[:limit]


async def test_a_chunk_weighs_all_it_mentions_though_few_of_it_make_it_a_candidate(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of each entity one chunk is a candidate, its best; what `last` weighs is more than that.
    crowd = [chunk(f"{n}", [mention("a", subject=True, count=9)]) for n in range(20)]
    last = chunk("last", ["a", mention("b", subject=True), "c"])
    await stores.write(document("one", *crowd, chunk("c", [mention("c", count=2)]), last))
    monkeypatch.setattr(graph, "MENTION_DEPTH", 1)
    monkeypatch.setattr(graph, "MENTION_CANDIDATES", 3)
    ids, chunks = await stores.entity_ids(), await stores.ids()
    told = await stores.graph.mentions_of(
        {ids["a"]: 0.5, ids["b"]: 0.25, ids["c"]: 0.5}, limit=1, always=[], access=reader()
    )
    assert [(one["chunk"], one["entity"]) for one in told] == [
        (chunks["last"], id_) for id_ in sorted(ids.values())
    ]


async def test_a_refused_weight_is_called_what_it_was_given_as(stores: Stores) -> None:
    with pytest.raises(InvalidInput, match="The weight of entity 7 is"):
        await stores.graph.mentions_of({7: 1.5}, limit=1, always=[], access=reader())
    with pytest.raises(InvalidInput, match="The score of entity 7 is"):
        await stores.graph.expand({7: 1.5}, walk=Walk(), access=reader())
