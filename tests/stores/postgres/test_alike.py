"""Alike names in PostgreSQL: by the index and one by one, killed half-way, beside writers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from clew.stores.alike import ALIKE, NEAREST
from clew.stores.postgres import alike, alike_queries
from clew.stores.protocols import Vector
from clew.stores.records import DocumentDraft

from .conftest import Stores
from .drafts import chunk, cosine, document, leaning, reader, stored, unit

ACCESS = reader()
INDEX = "Index Scan using entities_embedding"

Pairs = dict[tuple[str, str], float]
"""Cosines of names, from both ends."""


def page(vectors: Mapping[str, Vector], key: str = "page") -> DocumentDraft:
    """A document of one chunk that mentions all these names."""
    return document(key, chunk(key, vectors), vectors=vectors)


def crowd(names: range) -> dict[str, Vector]:
    """Names of which each is alike to those of its own kind, and to nobody else."""
    return {f"{n}": unit(n % 7) + unit(n) / np.float32(4) for n in names}


def alike_of(vectors: Mapping[str, Vector], nearest: int = NEAREST) -> Pairs:
    """Every pair, from the vectors as they are stored."""
    pairs: Pairs = {}
    halves: dict[str, Vector] = {name: stored(vector) for name, vector in vectors.items()}
    for one, mine in halves.items():
        cosines = {name: cosine(mine, half) for name, half in halves.items() if name != one}
        # Of names as near as each other those that came first.
        for other in sorted(cosines, key=lambda name: -cosines[name])[:nearest]:
            if cosines[other] >= ALIKE:
                pairs[one, other] = pairs[other, one] = cosines[other]
    return pairs


async def kept(stores: Stores, namespace: str = "main") -> Pairs:
    """The pairs in the database."""
    rows = await stores.rows(
        "select e.name, o.name, a.cosine from alike a join entities e on e.id = a.entity_id"
        " join entities o on o.id = a.other_id where e.namespace = %(n)s",
        {"n": namespace},
    )
    return {(one, other): near for one, other, near in rows}


async def compare(stores: Stores, limit: int = 999, namespace: str = "main") -> list[int]:
    """Compare until nothing is left; returns how many names each batch had."""
    batches, access = [], reader(namespace=namespace)
    while compared := await stores.documents.compare_names(limit=limit, access=access):
        batches.append(compared)
    return batches


@pytest.mark.parametrize("indexed", [True, False])
async def test_the_index_finds_the_pairs_that_looking_at_each_does(
    stores: Stores, dsn: str, monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    monkeypatch.setattr(alike, "EXACT_BELOW", 0 if indexed else 1000)
    monkeypatch.setattr(alike, "FEW", 0 if indexed else 1000)
    vectors = crowd(range(40))
    await stores.write(page(vectors))
    # As near as one's own kind, but of another namespace.
    await stores.write(page(crowd(range(40, 140))), namespace="other")
    options = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off"
    scanning = Stores.on(make_conninfo(dsn, options=options))
    params = {"namespace": "main", "limit": 9, "alike": ALIKE, "nearest": NEAREST}
    query = alike_queries.COMPARE if indexed else alike_queries.COMPARE_EXACT
    assert (INDEX in str(await scanning.rows(f"explain {query}", params))) is indexed
    assert await compare(scanning, limit=15) == [15, 15, 10]
    await scanning.database.close()
    expected = alike_of(vectors)
    assert len(expected) == sum(n * (n - 1) for n in (6, 6, 6, 6, 6, 5, 5))
    assert await kept(stores) == pytest.approx(expected, abs=1e-5)
    assert await kept(stores, "other") == {}


async def test_a_name_finds_no_more_than_its_nearest_and_is_found_by_others(
    stores: Stores,
) -> None:
    # All are alike; the last are as near to one as to another, and take those that came first.
    vectors = {f"{n}": leaning(64 - n // 4, n % 20) for n in range(NEAREST + 12)}
    await stores.write(page(vectors))
    await compare(stores, limit=7)
    found = await kept(stores)
    assert found == pytest.approx(alike_of(vectors), abs=1e-5)
    assert len(found) < len(alike_of(vectors, nearest=len(vectors)))
    assert max(sum(one == name for one, _ in found) for name in vectors) > NEAREST


async def test_a_comparing_that_was_killed_goes_on_where_it_was(stores: Stores) -> None:
    vectors = crowd(range(30))
    await stores.write(page(vectors))
    ids = await stores.entity_ids()
    async with stores.database.connection() as connection:
        await connection.execute(
            "create function stop() returns trigger language plpgsql as"
            f" $$ begin if new.entity_id = {ids['23']} then raise 'killed'; end if; return new;"
            " end $$; create trigger stop before insert on alike"
            " for each row execute function stop()".encode()
        )
    with pytest.raises(psycopg.errors.RaiseException, match="killed"):
        await compare(stores, limit=1)
    before = await kept(stores)
    assert before, "what was compared until then stays so"
    assert before.keys() < alike_of(vectors).keys()
    async with stores.database.connection() as connection:
        await connection.execute("drop function stop cascade")
    assert sum(await compare(stores, limit=4)) < len(vectors)
    assert await kept(stores) == pytest.approx(alike_of(vectors), abs=1e-5)


async def test_writers_and_comparings_of_one_namespace_do_not_lose_each_others_work(
    stores: Stores,
) -> None:
    pages = [page(crowd(range(10 * n, 10 * n + 10)), f"{n}") for n in range(8)]
    await stores.write(*pages[:4])
    async with asyncio.timeout(60):
        await asyncio.gather(
            compare(stores, limit=1),
            stores.write(*pages[4:]),
            compare(stores, limit=3),
            stores.documents.delete(["0", "1"], access=ACCESS),
        )
    stopped = "select deadlocks from pg_stat_database where datname = current_database()"
    assert await stores.rows(stopped) == [(0,)]
    await compare(stores)
    left = alike_of(crowd(range(20, 80)))
    assert await kept(stores) == pytest.approx(left, abs=1e-5)


async def test_what_is_deleted_leaves_no_pair(stores: Stores) -> None:
    await stores.write(page(crowd(range(20))))
    await compare(stores)
    await stores.documents.delete(["page"], access=ACCESS)
    assert await stores.rows("select count(*) from alike") == [(0,)]
