"""Weights in PostgreSQL: the formula, a weighing that is killed, and what others notice of one."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pytest

from clew.stores.postgres import documents
from clew.stores.postgres.outbox import PostgresOutbox
from clew.stores.records import CO_OCCURS, DocumentDraft
from clew.stores.weights import relation_weight

from .conftest import Stores, consistent
from .drafts import chunk, document, reader, relation

ACCESS = reader()


def pairs(names: range) -> list[DocumentDraft]:
    """Documents of two chunks, each with two names of its own and one that all of them share."""
    return [
        document(
            f"{n}",
            chunk(f"{n}", [f"a{n}", f"b{n}", "all"]),
            chunk(f"more {n}", [f"b{n}"]),
            acl=["public"] if n % 2 else ["ada"],
            relations=[
                relation(f"a{n}", CO_OCCURS, f"b{n}"),
                relation(f"a{n}", CO_OCCURS, "all"),
                relation(f"b{n}", "MET", "all"),
            ],
        )
        for n in names
    ]


async def execute(stores: Stores, statements: str) -> None:
    async with stores.database.connection() as connection:
        await connection.execute(statements.encode())


async def unweighed(stores: Stores) -> list[int]:
    """The relations that weigh otherwise than what the namespace holds now would have them."""
    return [
        id_
        for (id_,) in await stores.rows(
            "select r.id from relationships r join entities s on s.id = r.source"
            " join entities t on t.id = r.target join namespaces n on n.name = r.namespace"
            " where r.weight <> relation_weight(r.type, r.confidence, r.count, s.df, t.df,"
            " n.chunks) order by 1"
        )
    ]


@pytest.fixture
def in_steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has so many relations weighed in one transaction."""
    return lambda count: monkeypatch.setattr(documents, "WEIGHED_AT_ONCE", count)


async def test_the_formula_in_the_database_is_that_of_the_reference(stores: Stores) -> None:
    numbers = [1, 2, 3, 7, 100, 12_345, 10_000_000]
    kinds, confidences = [CO_OCCURS, "MET"], [1.0, 0.8, 2.0**-20]
    cases: list[tuple[Any, ...]] = [*itertools.product(kinds, confidences, *[numbers] * 4)]
    columns = [list(column) for column in zip(*cases, strict=True)]
    found = await stores.rows(
        "select relation_weight(k, c, n, s, t, total) from unnest(%(k)s::text[], %(c)s::real[],"
        " %(n)s::int8[], %(s)s::int8[], %(t)s::int8[], %(total)s::int8[])"
        " as x (k, c, n, s, t, total)",
        dict(zip(["k", "c", "n", "s", "t", "total"], columns, strict=True)),
    )
    expected = [
        relation_weight(
            kind,
            confidence=float(np.float32(confidence)),
            count=count,
            source_df=source_df,
            target_df=target_df,
            chunks=chunks,
        )
        for kind, confidence, count, source_df, target_df, chunks in cases
    ]
    assert [weight for (weight,) in found] == pytest.approx(expected, rel=1e-6)


async def test_weighing_in_steps_is_weighing_at_once(
    stores: Stores, in_steps: Callable[[int], None]
) -> None:
    await stores.write(*pairs(range(20)))
    await stores.write(*pairs(range(20)), namespace="at once")
    stale = await unweighed(stores)
    changed = await stores.documents.weigh(access=reader(namespace="at once"))
    in_steps(7)
    assert await stores.documents.weigh(access=ACCESS) == changed > 7
    assert len(stale) == 2 * changed, "no row is written that says the same afterwards"
    assert await unweighed(stores) == []
    kept = await stores.snapshot()
    assert kept == await stores.snapshot("at once")
    consistent(kept)


async def test_a_weighing_that_was_killed_is_done_again_to_its_end(
    stores: Stores, in_steps: Callable[[int], None]
) -> None:
    await stores.write(*pairs(range(10)))
    stale = await unweighed(stores)
    in_steps(4)
    await execute(
        stores,
        "create function stop() returns trigger language plpgsql as"
        f" $$ begin if new.id = {stale[-1]} then raise 'killed'; end if; return new; end $$;"
        "create trigger stop before update on relationships for each row execute function stop()",
    )
    with pytest.raises(psycopg.errors.RaiseException, match="killed"):
        await stores.documents.weigh(access=ACCESS)
    left = await unweighed(stores)
    assert 0 < len(left) < len(stale), "what was weighed until then stays so"
    consistent(await stores.snapshot())
    await execute(stores, "drop function stop cascade")
    assert await stores.documents.weigh(access=ACCESS) == len(left)
    assert await unweighed(stores) == []
    assert await stores.documents.weigh(access=ACCESS) == 0


async def test_writers_and_weighings_of_one_namespace_do_not_lose_each_others_work(
    stores: Stores, in_steps: Callable[[int], None]
) -> None:
    in_steps(1)
    await stores.write(*pairs(range(15)))
    async with asyncio.timeout(60):
        await asyncio.gather(
            stores.documents.weigh(access=ACCESS),
            stores.write(*pairs(range(10, 20))),
            stores.documents.weigh(access=ACCESS),
            stores.documents.delete([f"{n}" for n in range(5)], access=ACCESS),
        )
    stopped = "select deadlocks from pg_stat_database where datname = current_database()"
    assert await stores.rows(stopped) == [(0,)]
    consistent(await stores.snapshot())
    await stores.write(*pairs(range(20, 40)))
    await stores.documents.weigh(access=ACCESS)
    assert await unweighed(stores) == []


async def test_the_outbox_names_what_a_weighing_changed_once_there_is_a_copy(
    stores: Stores,
) -> None:
    outbox = PostgresOutbox(stores.database)
    await stores.write(*pairs(range(5)))
    await stores.documents.weigh(access=ACCESS)
    assert await outbox.lag() == (0, 0.0)
    await outbox.register()
    await stores.write(*pairs(range(5, 9)))
    await execute(stores, "truncate outbox")
    stale = await unweighed(stores)
    assert await stores.documents.weigh(access=ACCESS) == len(stale) > 0
    noted = await stores.rows("select kind, ref from outbox order by ref")
    assert noted == [("relationship", id_) for id_ in stale]
