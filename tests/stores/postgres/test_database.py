"""A pool survives the loss of its connections."""

from __future__ import annotations

import asyncio

import psycopg

from clew.stores.postgres.database import Database


async def test_a_restart_that_killed_every_pooled_connection_goes_unnoticed(dsn: str) -> None:
    """More of them are dead than a statement is tried, so one failure must replace them all."""
    database = Database(dsn, pool_size=8, pool_timeout=5, ef_search=40)
    try:
        asked = [database.fetch("select pg_sleep(0.2)", {}) for _ in range(8)]
        await asyncio.gather(*asked)
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as other:
            cursor = await other.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'clew' and datname = current_database()"
            )
            assert await cursor.fetchall() == [(True,)] * 8
        assert await database.fetch("select 1 as one", {}) == [{"one": 1}]
        again = [database.fetch("select pg_sleep(0.1)", {}) for _ in range(8)]
        assert len(await asyncio.gather(*again)) == 8
    finally:
        await database.close()
