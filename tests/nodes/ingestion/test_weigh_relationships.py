"""What a run leaves weighs what it weighs among all that the run has brought."""

from __future__ import annotations

import pytest

from clew.nodes.ingestion.weigh_relationships import weigh_relationships
from clew.state import IngestionState
from clew.stores.access import Access
from clew.stores.errors import InvalidInput
from clew.stores.records import CO_OCCURS
from clew.tests.conformance.backends import memory_backend
from clew.tests.stores.postgres.drafts import chunk, document, reader, relation


async def test_what_landed_first_weighs_as_if_it_had_landed_last() -> None:
    backend = memory_backend()
    met = document("met", chunk("x", ["a", "b"]), relations=[relation("a", CO_OCCURS, "b")])
    rest = [document(f"{n}", chunk(f"{n}", ["a"])) for n in range(7)]
    await backend.write(met, *rest)
    await backend.write(*rest, met, namespace="other way round")

    async def weight(namespace: str) -> float:
        (one,) = (await backend.known(namespace)).relationships.values()
        return one["weight"]

    assert await weight("main") > await weight("other way round")
    update = await weigh_relationships(
        IngestionState(), documents=backend.documents, access=reader()
    )
    assert update == {}
    assert await weight("main") == await weight("other way round")


async def test_who_may_not_write_to_the_namespace_may_not_weigh_it_either() -> None:
    with pytest.raises(InvalidInput, match="may not use that namespace"):
        await weigh_relationships(
            IngestionState(), documents=memory_backend().documents, access=Access(())
        )
