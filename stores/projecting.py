"""Keeping a copy of the graph true to the record.

Notes say which rows changed, not how: the present state is sent, so that sending twice, late or in
another order comes to the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, get_args

from typing_extensions import TypedDict

from .projected import ProjectedKind
from .protocols import GraphProjection

__all__ = ["Difference", "Outbox", "compare", "send"]

BATCH = 1000
KINDS: tuple[ProjectedKind, ...] = get_args(ProjectedKind)


class Outbox(Protocol):
    """The record's side: what changed and what is there now."""

    async def registered(self) -> bool:
        """Whether writers leave notes."""
        ...

    async def register(self) -> None:
        """Have writers leave notes from now on, and note everything that is there already."""
        ...

    async def lag(self) -> tuple[int, float]:
        """How many notes wait, and for how many seconds the oldest has."""
        ...

    def sending(self) -> AbstractAsyncContextManager[None]:
        """Be the only sender."""
        ...

    async def take(self, limit: int) -> tuple[ProjectedKind, dict[int, list[int]]] | None:
        """The oldest notes of one kind: for each row, the notes about it. None: all is sent."""
        ...

    async def load(self, kind: ProjectedKind, ids: Sequence[int]) -> list[dict[str, Any]]:
        """The present state of those rows that still exist, ascending."""
        ...

    async def forget(self, notes: Sequence[int]) -> None:
        """Take these notes out."""
        ...

    async def read(self, kind: ProjectedKind, *, after: int, limit: int) -> list[dict[str, Any]]:
        """The next rows of the record with ids above `after`, ascending."""
        ...


class Difference(TypedDict):
    """A row that the copy lacks, has too much, or has otherwise."""

    kind: ProjectedKind
    id: int
    what: str


async def send(outbox: Outbox, projection: GraphProjection, progress: Callable[[int], None]) -> int:
    """Tell the copy everything that is noted; returns how many rows were sent.

    A batch is forgotten once it has arrived, so that an interrupted run goes on where it was.
    The first run registers the copy. Raises `StoreUnavailable` when either side is gone, or
    somebody else is sending.
    """
    sent = 0
    async with outbox.sending():
        await projection.prepare()
        if not await outbox.registered():
            await outbox.register()
        while (taken := await outbox.take(BATCH)) is not None:
            kind, notes = taken
            rows = await outbox.load(kind, list(notes))
            await _put(projection, kind, rows)
            gone = sorted(notes.keys() - {row["id"] for row in rows})
            if gone:
                await projection.remove(kind, gone)
            await outbox.forget([note for about in notes.values() for note in about])
            sent += len(notes)
            progress(sent)
    return sent


async def compare(
    outbox: Outbox, projection: GraphProjection, progress: Callable[[int], None]
) -> list[Difference]:
    """Every row in which the copy differs from the record; while notes wait, some will."""
    differences: list[Difference] = []
    seen = 0
    for kind in KINDS:
        record, copy = _rows(outbox, kind), _rows(projection, kind)
        ours, theirs = await anext(record, None), await anext(copy, None)
        while ours is not None or theirs is not None:
            seen += 1
            if seen % BATCH == 0:
                progress(seen)
            if theirs is None or (ours is not None and ours["id"] < theirs["id"]):
                assert ours is not None
                differences.append(Difference(kind=kind, id=ours["id"], what="missing"))
                ours = await anext(record, None)
            elif ours is None or theirs["id"] < ours["id"]:
                differences.append(Difference(kind=kind, id=theirs["id"], what="left over"))
                theirs = await anext(copy, None)
            else:
                if ours != theirs:
                    fields = [name for name in ours if ours[name] != theirs.get(name)]
                    what = f"another {', '.join(fields)}"
                    differences.append(Difference(kind=kind, id=ours["id"], what=what))
                ours, theirs = await anext(record, None), await anext(copy, None)
    return differences


async def _put(projection: GraphProjection, kind: ProjectedKind, rows: list[Any]) -> None:
    if not rows:
        return
    match kind:
        case "audience":
            await projection.put_audiences(rows)
        case "entity":
            await projection.put_entities(rows)
        case "relationship":
            await projection.put_relationships(rows)
        case "document":
            await projection.put_documents(rows)


async def _rows(
    side: Outbox | GraphProjection, kind: ProjectedKind
) -> AsyncIterator[dict[str, Any]]:
    after = 0
    while rows := await side.read(kind, after=after, limit=BATCH):
        for row in rows:
            yield row
        after = rows[-1]["id"]
