"""What searches owe to PostgreSQL: the plan of a scan, and the limits of its types."""

from __future__ import annotations

import pytest
from psycopg.conninfo import make_conninfo

from clew.stores.errors import InvalidInput
from clew.stores.postgres import chunks, queries, search_queries
from clew.stores.postgres.queries import halfvec

from .conftest import Stores
from .drafts import EVERYTHING, WORDS, chunk, document, reader, unit


async def test_the_stemmer_leaves_the_words_of_the_drafts_alone(stores: Stores) -> None:
    assert await stores.rows(
        "select to_tsvector('english', %(w)s)::text = to_tsvector('simple', %(w)s)::text",
        {"w": " ".join(WORDS)},
    ) == [(True,)]


@pytest.mark.parametrize("indexed", [True, False])
async def test_a_scan_of_the_index_does_not_lose_the_few_that_may_be_read(
    stores: Stores, dsn: str, monkeypatch: pytest.MonkeyPatch, indexed: bool
) -> None:
    monkeypatch.setattr(chunks, "EXACT_BELOW", 0 if indexed else 1000)
    monkeypatch.setattr(chunks, "FEW", 0 if indexed else 1000)
    asked = unit("asked")
    near = [chunk(f"near {n}", embedding=asked + unit(n) / 8) for n in range(297)]
    far = [chunk(f"far {n}", embedding=unit(n) - asked) for n in range(3)]
    await stores.write(document("crowd", *near, acl=["bob"]), document("few", *far, acl=["ada"]))
    options = "-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off"
    scanning = Stores.on(make_conninfo(dsn, options=options), ef_search=10)
    params = {
        "embedding": halfvec(asked),
        "limit": 5,
        "most": 1000,
        **queries.filter_params(EVERYTHING),
        **queries.access_params(reader("ada")),
    }
    by_index = search_queries.search_vector(5, filtered=False)
    query = by_index if indexed else search_queries.SEARCH_VECTOR_EXACT
    plan = str(await scanning.rows(f"explain {query}", params))
    assert ("Index Scan using chunks_embedding" in plan) is indexed
    hits = await scanning.chunks.search_vector(
        asked, limit=5, filters=EVERYTHING, access=reader("ada")
    )
    await scanning.database.close()
    ids = await stores.ids()
    assert {hit["id"] for hit in hits} == {ids[f"far {n}"] for n in range(3)}


async def test_a_question_of_more_words_than_a_tsvector_holds_is_the_callers_mistake(
    stores: Stores,
) -> None:
    await stores.write(document("one", "gold"))
    question = " ".join(map(str, range(200_000)))
    with pytest.raises(InvalidInput):
        await stores.chunks.search_text(question, limit=1, filters=EVERYTHING, access=reader())


async def test_a_question_of_another_model_is_told_of_its_dimension(stores: Stores) -> None:
    await stores.write(document("one", "gold"))
    (id_,) = (await stores.ids()).values()
    with pytest.raises(InvalidInput, match="dimension"):
        await stores.chunks.score(
            [id_], embedding=unit(1)[:5], question="", filters=EVERYTHING, access=reader()
        )
