"""What the attack of `tests/conformance` cannot see: rows, and that it asks for something.

What an attacker is told is held there; here, that no method is left out of it, that each of its
questions would show a secret to who may know it, and that writing leaves every foreign row alone.
"""

from __future__ import annotations

import pytest

from clew.stores import protocols
from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.postgres.chunks import PostgresChunkStore
from clew.stores.postgres.documents import PostgresDocumentStore
from clew.stores.postgres.entities import PostgresEntityStore
from clew.stores.postgres.graph import PostgresGraphStore
from clew.stores.postgres.sections import PostgresSectionStore
from clew.stores.records import DocumentDraft
from clew.stores.unfinished import UnfinishedDocuments
from clew.tests.conformance.attack import ATTACKERS, crowd, join, own, secret
from clew.tests.conformance.backends import postgres_backend

from .conftest import Stores


@pytest.mark.parametrize(
    ("store", "held"),
    [
        (PostgresChunkStore, [protocols.ChunkStore]),
        (PostgresDocumentStore, [protocols.DocumentStore, UnfinishedDocuments]),
        (PostgresEntityStore, [protocols.EntityStore]),
        (PostgresGraphStore, [protocols.GraphStore]),
        (PostgresSectionStore, [protocols.SectionStore]),
    ],
)
def test_a_store_has_no_method_beyond_its_protocols(store: type, held: list[type]) -> None:
    offered, *attacked = (
        {name for name in vars(one) if not name.startswith("_")} for one in (store, *held)
    )
    assert offered == set().union(*attacked)


async def test_what_is_counted_lies_in_the_namespaces_of_whoever_asks(dsn: str) -> None:
    async with postgres_backend(dsn) as backend:
        await crowd(backend)
        await join(backend)
        counted = {
            who: await backend.sections.unsectioned(access=access)
            for who, access in ATTACKERS.items()
        }
    assert counted == {
        "nobody": 3,
        "the attacker": 3,
        "who spells principals": 3,
        "who spells namespaces": 0,
        "who asks beyond what he may": 3,
        "who may enter nothing": 0,
    }


async def test_writing_and_deleting_change_no_row_of_another_namespace(
    stores: Stores, dsn: str
) -> None:
    async with postgres_backend(dsn) as backend:
        await crowd(backend)
        await join(backend)
    before = [await stores.snapshot(name) for name in ("vexland", "shared")]
    keys = ["vex/private", "vex/tenant"]
    for name in ("mine", "Vexland", "vex%", ""):
        access = Access((name,), ("attacker",))
        stolen: DocumentDraft = {**secret("tenant", ["attacker"]), "title": "Mine now"}
        report = await stores.documents.write([stolen], access=access)
        assert not report["failed"]
        assert await stores.documents.delete(keys, access=access) == 1
    for access in (ATTACKERS["the attacker"], ATTACKERS["who may enter nothing"]):
        with pytest.raises(InvalidInput):
            await stores.documents.delete(keys, access=access)
        with pytest.raises(InvalidInput):
            await stores.documents.write([own("mine")], access=access)
    assert [await stores.snapshot(name) for name in ("vexland", "shared")] == before
