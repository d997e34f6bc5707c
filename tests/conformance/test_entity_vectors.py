"""Entities by what they mean: the cosine of their stored embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from clew.tests.stores.postgres.drafts import (
    chunk,
    cosine,
    document,
    reader,
    stored,
    unit,
)

from .backends import Backend

ACCESS = reader()


async def test_nearest_keeps_to_the_least_cosine_and_the_limit(backend: Backend) -> None:
    rng = np.random.default_rng(5)
    asked = np.stack([unit("one"), unit("two")])
    names = [f"Name {n}" for n in range(30)]
    vectors = {
        name: unit(name) * 0.4 + asked[n % 2] * rng.uniform(-1, 1) for n, name in enumerate(names)
    }
    await backend.write(
        document("open", chunk("x", names[:20]), vectors=vectors),
        document("closed", chunk("y", names[20:]), vectors=vectors, acl=["eve"]),
    )
    for access, known in ((ACCESS, names[:20]), (reader("eve"), names)):
        for limit, least in ((3, -1.0), (50, 0.2), (50, 0.99)):
            matches = await backend.entities.find_nearest(
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


async def test_similarity_is_cosine_best_first(backend: Backend) -> None:
    names = [f"Name {n}" for n in range(12)]
    vectors = {name: unit(n // 2) for n, name in enumerate(names)}  # in pairs, to have ties
    await backend.write(
        document("open", chunk("x", names[:10]), vectors=vectors),
        document("closed", chunk("y", names[10:]), vectors=vectors, acl=["eve"]),
    )
    known, asked = await backend.known(), unit("asked")
    hits = await backend.entities.similarity(
        [*reversed(known.entities), 10**9], embedding=asked, access=ACCESS
    )
    expected = {
        known.entity(name): cosine(stored(asked), stored(vectors[name])) for name in names[:10]
    }
    assert [hit["id"] for hit in hits] == sorted(
        expected, key=lambda i: (-round(expected[i], 9), i)
    )
    assert [hit["score"] for hit in hits] == pytest.approx(
        sorted(expected.values(), reverse=True), abs=1e-5
    )


async def test_what_has_no_vector_is_near_nothing_until_a_document_brings_one(
    backend: Backend,
) -> None:
    bare = document("bare", chunk("x", ["Ada", "Bob"]))
    bare["entities"][0]["embedding"] = ""
    await backend.write(bare)
    ids, asked = [*(await backend.known()).entities], unit("asked")

    async def near() -> set[str]:
        matches = await backend.entities.find_nearest(
            ["x"], asked[None], limit=9, min_cosine=-1.0, access=ACCESS
        )
        hits = await backend.entities.similarity(ids, embedding=asked, access=ACCESS)
        assert {hit["id"] for hit in hits} == {match["entity"]["id"] for match in matches}
        return {match["entity"]["name"] for match in matches}

    assert await near() == {"Bob"}
    await backend.write(document("full", chunk("y", ["Ada"])))
    assert await near() == {"Ada", "Bob"}


async def test_entities_near_a_chunk_come_nearest_first_whether_it_mentions_them_or_not(
    backend: Backend,
) -> None:
    names = [f"Name {n}" for n in range(9)]
    vectors = {name: unit("x") * np.float32(n / 9) + unit(name) for n, name in enumerate(names)}
    bare = document("bare", chunk("w", ["Bare"]))
    bare["entities"][0]["embedding"] = ""
    await backend.write(
        document("open", chunk("x", names[:2]), chunk("y", names[2:6]), vectors=vectors),
        document("closed", chunk("z", names[6:]), vectors=vectors, acl=["eve"]),
        bare,
    )
    known = await backend.known()
    chunks = {text: known.chunk(text) for text in "xyz"}
    for access, readable in ((ACCESS, names[:6]), (reader("eve"), names)):
        for limit, least in ((2, -1.0), (99, 0.25), (99, -1.0)):
            rows = await backend.entities.near_chunks(
                [*reversed(chunks.values()), 10**9], limit=limit, min_cosine=least, access=access
            )
            assert [row["chunk"] for row in rows] == sorted(row["chunk"] for row in rows)
            assert {(row["count"], row["subject"]) for row in rows} <= {(0, False)}
            for text in "xy" if access is ACCESS else "xyz":
                near = [
                    (cosine(stored(unit(text)), stored(vectors[name])), name) for name in readable
                ]
                expected = [name for c, name in sorted(near, reverse=True) if c >= least][:limit]
                assert [row["name"] for row in rows if row["chunk"] == chunks[text]] == expected
            if access is ACCESS:
                assert chunks["z"] not in {row["chunk"] for row in rows}
