"""Finding the entities of a namespace whose names mean nearly the same."""

from __future__ import annotations

from ..alike import ALIKE, NEAREST
from . import alike_queries as queries
from .chunks import EXACT_BELOW, FEW, NARROW
from .database import Connection, Database
from .writes import LOCK

__all__ = ["compare_names"]

BREADTH = "40"
"""Of the search for each name's neighbours: less than questions get, since there are many names."""


async def compare_names(database: Database, namespace: str, limit: int) -> int:
    """Compare the next names with all others; returns how many there were.

    By the index when it pays, one by one when the namespace is small or a small part of all.
    Writers of the namespace take turns with this, so that what it compares stays.
    """
    params = {"namespace": namespace, "limit": limit, "alike": ALIKE, "nearest": NEAREST}

    async def work(connection: Connection) -> int:
        await connection.execute(LOCK, params)
        size = await (await connection.execute(queries.SIZE, params)).fetchone()
        if size is None:
            return 0
        held: int = size["entities"]
        stored: float = max(size["stored"], held)
        exact = held <= FEW or (held <= EXACT_BELOW and held < NARROW * stored)
        await connection.execute("select set_config('hnsw.ef_search', %s, true)", [BREADTH])
        statement = queries.COMPARE_EXACT if exact else queries.COMPARE
        compared = await (await connection.execute(statement, params)).fetchone()
        assert compared is not None
        return int(compared["names"])

    return await database.transact(work)
