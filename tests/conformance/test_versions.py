"""A namespace's version rises with whatever changes what may be found in it, and with nothing else.

What is kept of an answer is asked for by the version it was made at.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from clew.stores.records import CO_OCCURS
from clew.tests.stores.postgres.drafts import (
    EVERYTHING,
    chunk,
    document,
    leaning,
    reader,
    relation,
    story,
    unit,
)

from .backends import Backend

Change = Callable[[Backend], Awaitable[object]]


async def version(backend: Backend, namespace: str = "main") -> int:
    """The version of a namespace that is there."""
    (stats,) = await backend.entities.stats(access=reader(namespace=namespace))
    return stats["version"]


async def library(backend: Backend) -> None:
    """Two names that are alike and stand together, and more of one since they were weighed."""
    meant = {"Olga": leaning(64), "Olga Duchess": leaning(56, 1)}
    together = [relation("Olga", CO_OCCURS, "Olga Duchess")]
    await backend.write(
        document("met", chunk("met", meant), relations=together, vectors=meant), story()
    )
    await backend.weigh()
    await backend.write(*(document(f"more {n}", chunk(f"more {n}", ["Olga"])) for n in range(4)))


CHANGES: dict[str, Change] = {
    "a new document": lambda b: b.write(document("new", "new")),
    "a document replaced": lambda b: b.write(document("met", "other")),
    "a document given to others": lambda b: b.write(story(acl=("ada",))),
    "a document deleted": lambda b: b.delete("met"),
    "relations weighed": lambda b: b.weigh(),
    "names compared": lambda b: b.compare(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_every_change_of_what_may_be_found_raises_the_version(
    backend: Backend, change: Change
) -> None:
    await library(backend)
    before = await version(backend)
    await change(backend)
    assert await version(backend) > before


async def test_the_version_never_comes_back(backend: Backend) -> None:
    """After everything was deleted and written again it is another than it ever was."""
    await backend.write(story())
    seen = [await version(backend)]
    for _ in range(2):
        await backend.delete("story")
        seen.append(await version(backend))
        await backend.write(story())
        seen.append(await version(backend))
    assert seen == sorted({*seen})


async def test_what_changes_nothing_leaves_the_version(backend: Backend) -> None:
    """Reading, a document that is refused or not there, and work of which none is left."""
    await library(backend)
    await backend.weigh()
    await backend.compare()
    before = await version(backend)
    assert await backend.documents.hashes(["story"], access=reader())
    await backend.known()
    await backend.chunks.search_text("met", limit=9, filters=EVERYTHING, access=reader())
    await backend.chunks.search_vector(unit(1), limit=9, filters=EVERYTHING, access=reader())
    report = await backend.documents.write([story("refused", acl=())], access=reader())
    assert report["failed"]
    assert await backend.delete("none") == 0
    assert await backend.weigh() == await backend.compare() == 0
    assert await version(backend) == before


async def test_a_change_elsewhere_leaves_the_version(backend: Backend) -> None:
    """What one tenant writes does not cost another its kept answers."""
    await library(backend)
    before = await version(backend)
    await backend.write(story(), namespace="other")
    assert (await version(backend), await version(backend, "other")) == (before, 1)
