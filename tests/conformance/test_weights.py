"""What co-occurrences weigh: how well their ends belong together, by what the namespace holds."""

from __future__ import annotations

from typing import Any

import pytest

from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.records import CO_OCCURS, DocumentDraft
from clew.tests.stores.postgres.drafts import chunk, document, reader, relation

from .backends import EVERYONE, Backend
from .test_graph import walk


def met(key: str, one: str, other: str, **more: Any) -> DocumentDraft:
    """A page that two names share, and that says nothing else of either."""
    return document(
        key,
        chunk(key, [one, other]),
        relations=[relation(one, CO_OCCURS, other, confidence=0.8)],
        **more,
    )


def pages(name: str, count: int) -> list[DocumentDraft]:
    """Documents of one chunk that mention a name and nobody else."""
    return [document(f"{name} {n}", chunk(f"{name} {n}", [name])) for n in range(count)]


async def weights(backend: Backend, namespace: str = "main") -> dict[str, float]:
    """What each relation weighs, by its ends; a walk over it says the same."""
    known, access = await backend.known(namespace), Access((namespace,), EVERYONE)
    found = {}
    for one in known.relationships.values():
        (step,) = (
            reached["path"][0]
            for reached in await walk(backend, {one["source"]: 1.0}, access=access, limit=99)
            if reached["id"] == one["target"]
        )
        assert step["weight"] == pytest.approx(one["weight"], rel=1e-6)
        found[f"{known.name(one['source'])} {known.name(one['target'])}"] = one["weight"]
    return found


async def test_names_that_always_stand_together_outweigh_hubs_that_met_as_often(
    graph_backend: Backend,
) -> None:
    hubs = [*pages("sun", 6), *pages("moon", 6)]
    await graph_backend.write(
        *hubs,
        *(met(f"both {n}", "sun", "moon") for n in range(2)),
        *(met(f"pair {n}", "a", "b") for n in range(2)),
    )
    await graph_backend.weigh()
    found = await weights(graph_backend)
    # Of 16 chunks 2 hold both hubs, which are in 8 each: by chance it would be 4.
    assert found["a b"] == pytest.approx(0.8 * 2 / 3, rel=1e-6)
    assert found["sun moon"] == pytest.approx(0.8 * 2 / 3 * (1 - 1 / 3) / 2, rel=1e-6)
    assert found["a b"] > 2 * found["sun moon"]


async def test_a_document_weighs_what_it_touches_by_what_is_there_after_it(
    graph_backend: Backend,
) -> None:
    await graph_backend.write(met("first", "a", "b"), *pages("c", 2), *pages("a", 1))
    assert (await weights(graph_backend))["a b"] == pytest.approx(0.4), (
        "as when it was all there was"
    )
    await graph_backend.write(met("second", "a", "b"))
    # Both in 2 of 5 chunks, which is all of b's and two of a's three.
    sure = 0.8 * 2 / 3
    now = pytest.approx(sure * (1 + 0.5575) / 2, rel=1e-3)
    assert (await weights(graph_backend))["a b"] == now
    # A replaced one weighs also what it no longer bears out, by what has taken its place.
    await graph_backend.write(document("second", *(chunk(f"{n}", ["c"]) for n in range(4))))
    assert (await weights(graph_backend))["a b"] == pytest.approx(0.4 * (1 + 0.6667) / 2, rel=1e-3)
    await graph_backend.write(met("second", "a", "b"))
    assert (await weights(graph_backend))["a b"] == now
    await graph_backend.delete("second")
    assert (await weights(graph_backend))["a b"] == pytest.approx(0.4 * (1 + 0.5) / 2, rel=1e-3)


async def test_weighing_does_nothing_until_the_namespace_has_outgrown_its_weights(
    graph_backend: Backend,
) -> None:
    grown = [met("one", "a", "b"), met("two", "a", "c"), *pages("b", 8)]
    await graph_backend.write(*grown)
    stale = await weights(graph_backend)
    assert await graph_backend.weigh() == 2, "none was ever weighed among all of it"
    weighed = await weights(graph_backend)
    assert weighed != stale
    await graph_backend.write(*pages("a", 1))
    assert await graph_backend.weigh() == 0, "a tenth is not worth it"
    assert await weights(graph_backend) == weighed
    await graph_backend.write(*pages("c", 1))
    assert await graph_backend.weigh() == 2, "a fifth is"
    assert await weights(graph_backend) != weighed
    assert await graph_backend.weigh() == 0
    await graph_backend.delete(*(one["key"] for one in pages("b", 3)))
    assert await graph_backend.weigh() == 2, "and shrinking is as good as growing"
    # A store to which what is left came at once weighs the same.
    left = [*grown[:2], *pages("b", 8)[3:], *pages("a", 1), *pages("c", 1)]
    await graph_backend.write(*left, namespace="fresh")
    await graph_backend.weigh(namespace="fresh")
    assert await weights(graph_backend) == pytest.approx(
        await weights(graph_backend, "fresh"), rel=1e-6
    )


async def test_weighing_leaves_what_somebody_said_and_what_is_elsewhere(
    graph_backend: Backend,
) -> None:
    said = document("said", chunk("x", ["a", "b"]), relations=[relation("a", "MET", "b")])
    secret = met("secret", "c", "d", acl=["eve"])
    await graph_backend.write(said, secret, *pages("c", 9))
    await graph_backend.write(met("other", "a", "b"), *pages("b", 9), namespace="other")
    elsewhere = await weights(graph_backend, "other")
    assert (await weights(graph_backend))["a b"] == 0.5
    # Who may write to a namespace keeps all of it in order, what he may not read as well.
    assert await graph_backend.weigh() == 1
    assert (await weights(graph_backend))["a b"] == 0.5
    assert await weights(graph_backend, "other") == elsewhere


async def test_there_is_nothing_to_weigh_in_a_namespace_that_is_not_there(
    backend: Backend,
) -> None:
    assert await backend.weigh(namespace="nowhere") == 0
    assert await backend.entities.stats(access=reader(namespace="nowhere")) == []


@pytest.mark.parametrize(
    ("namespaces", "sentence"),
    [((), "may not use that namespace"), (("one", "two"), "exactly one namespace, not 2")],
)
async def test_weighing_needs_exactly_one_namespace(
    backend: Backend, namespaces: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        await backend.documents.weigh(access=Access(namespaces))
