"""A store and the reference side by side, after the same history and with the same ids."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

from hypothesis import HealthCheck, settings

from clew.models.names import normalise
from clew.stores.access import Access
from clew.stores.memory import MemoryRecord
from clew.tests.stores.postgres.drafts import EVERYTHING, unit

from .backends import EVERYONE, Backend, Known, memory_backend, memory_record
from .scenes import ACCESSES, NAMESPACES, Step, live

ALL = 10_000


def thorough(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=[*HealthCheck],
    )


def within(
    opened: AbstractAsyncContextManager[Backend],
    body: Callable[[Callable[[Awaitable[None]], None], Backend], None],
) -> None:
    """Hand over an open store, and a way to run coroutines on the loop it was opened on."""
    # A loop of its own: hypothesis calls plainly, and a pool belongs to one loop.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        backend = runner.run(opened.__aenter__())

        async def awaited(work: Awaitable[None]) -> None:
            await work

        try:
            body(lambda work: runner.run(awaited(work)), backend)
        finally:
            runner.run(opened.__aexit__(None, None, None))


async def reference(backend: Backend, steps: Sequence[Step], suffix: str) -> Backend:
    """The reference after the same history, with the ids that the store has given."""
    record = memory_record()
    remembered = memory_backend(record)
    assert await live(backend, steps, suffix) == await live(remembered, steps, suffix)
    # All before any is renumbered: until then two may have the number of one.
    told = {name + suffix: await remembered.known(name + suffix) for name in NAMESPACES}
    numbers: dict[int, int] = {}
    for name, mine in told.items():
        numbers |= await adopt(record, mine, backend, name)
    pairs = {
        numbers[one]: {numbers[other]: near for other, near in found.items() if other in numbers}
        for one, found in record.alike.items()
        if one in numbers
    }
    record.alike.clear()
    record.alike |= pairs
    return remembered


async def adopt(
    record: MemoryRecord, told: Known, theirs: Backend, namespace: str
) -> dict[int, int]:
    """Number what is in a namespace as the other store does; both must hold the same.

    Returns the numbers of its entities by those that they had.
    """
    access = Access((namespace,), EVERYONE)
    known = await theirs.known(namespace)
    documents: dict[int, str] = {}
    entities: dict[int, int] = {}
    for passage in known.passages.values():
        document = record.documents[namespace, passage["document_id"]]
        documents[passage["document"]] = passage["document_id"]
        document.id = passage["document"]
        document.chunk_ids[passage["chunk_index"]] = passage["id"]
    for entity in known.entities.values():
        name = (namespace, (normalise(entity["name"]), entity["type"]))
        assert record.entities[name].name == entity["name"]
        entities[record.entities[name].id] = entity["id"]
        record.entities[name].id = entity["id"]
    for one in known.relationships.values():
        source, target = (
            (normalise(known.entities[end]["name"]), known.entities[end]["type"])
            for end in (one["source"], one["target"])
        )
        record.relations[namespace, source, target, one["type"]].id = one["id"]
    for section in await theirs.sections.search_sections(
        unit(1), limit=ALL, filters=EVERYTHING, access=access
    ):
        document = record.documents[namespace, documents[section["document"]]]
        (index,) = [
            draft["index"]
            for draft in document.prepared.sections
            if (draft["span_start"], draft["span_end"])
            == (section["span_start"], section["span_end"])
        ]
        document.section_ids[index] = section["id"]
    assert len(known.passages) == len(told.passages)
    assert len(known.entities) == len(told.entities)
    assert len(known.relationships) == len(told.relationships)
    record.forget_view()
    return entities


def accesses(suffix: str) -> list[Access]:
    return [
        Access(tuple(name + suffix for name in one.namespaces), one.principals) for one in ACCESSES
    ]
