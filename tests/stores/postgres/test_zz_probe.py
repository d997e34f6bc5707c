import traceback
import numpy as np
import pytest
from clew.stores.errors import StoreError
from clew.stores.postgres.database import Database, translated
from clew.stores.postgres import schema
from .drafts import *
import psycopg
from psycopg.conninfo import make_conninfo

async def attempt(label, coro):
    try:
        r = await coro
        print("OK  ", label, r)
    except StoreError as e:
        print("STORE", label, type(e).__name__, e)
    except BaseException as e:
        print("RAW ", label, type(e).__mro__[:3], str(e)[:300])

async def test_probe(stores, dsn, server, empty_dsn):
    w = lambda *d: stores.documents.write(d, access=reader())
    await attempt("fine", w(document("fine", chunk("alpha beta", ["Ada", "Bob"]), metadata={"a": 1}, relations=[relation("Ada","X","Bob")])))
    bad = document("b1", "x"); bad["title"] = "a\0b"
    await attempt("null title", w(bad))
    bad = document("b1", chunk("x\0y"))
    await attempt("null chunk+text", w(bad))
    bad = document("b1", chunk("x y")); bad["chunks"][0]["text"] = "x\0"
    await attempt("null chunk", w(bad))
    await attempt("null category", w(document("b2", "x", category="a\0")))
    await attempt("null name", w(document("b2", chunk("x", ["a\0b"]))))
    await attempt("surrogate title", w(document("b2", "x", title="a\ud800")))
    await attempt("surrogate text", w(document("b2", "x\ud800")))
    await attempt("empty acl", w(document("b3", "x", acl=[])))
    await attempt("conf 0", w(document("b3", chunk("x", ["A1","B1"]), relations=[relation("A1","X","B1",confidence=0)])))
    await attempt("conf 2", w(document("b3", chunk("x", ["A1","B1"]), relations=[relation("A1","X","B1",confidence=2.5)])))
    await attempt("conf nan", w(document("b3", chunk("x", ["A1","B1"]), relations=[relation("A1","X","B1",confidence=float("nan"))])))
    await attempt("no evidence", w(document("b3", chunk("x", ["A1","B1"]), relations=[relation("A1","X","B1",evidence=[])])))
    await attempt("dim", w(document("b3", chunk("x", embedding=np.ones(3, dtype=np.float32)))))
    bad = document("b3", "x"); bad["chunks"][0]["embedding"] = "%%%"
    await attempt("bad base64", w(bad))
    bad = document("b3", "x"); bad["chunks"][0]["embedding"] = "abc"
    await attempt("bad base64 b", w(bad))
    bad = document("b3", "x"); bad["chunks"][0]["embedding"] = ""
    await attempt("no embedding", w(bad))
    bad = document("b3", "x", "y"); bad["chunks"][1]["index"] = 0
    await attempt("twice index", w(bad))
    await attempt("date", w(document("b3", "x", date="2020")))
    await attempt("date ok", w(document("b3", "x", date="2020-01-02")))
    await attempt("long key", w(document("".join(str(hash(str(i))) for i in range(1000)), "x")))
    await attempt("long name", w(document("ln", chunk("x", ["".join(str(hash(str(i))) for i in range(1000))]))))
    await attempt("huge chunk", w(document("hc", chunk(" ".join(f"w{i}" for i in range(400000))))))
    await attempt("odd names", w(document("odd", chunk("x", ["!!!", "\\/", "c++", "o'brien", "Visual c++", "'", "(:)"]), aliases={"c++": ["!!", "''"]})))
    a = reader()
    for n in ["!!!", "\\/", "c++", "o'brien", "visual c++", "'", "berlin !!!", "vizual c++", "berlin :*"]:
        await attempt(f"exact {n}", stores.entities.find_exact([n], access=a))
        await attempt(f"similar {n}", stores.entities.find_similar([n, "berlin"], access=a))
        await attempt(f"text {n}", stores.entities.find_text([n], limit=3, access=a))
    await attempt("delete odd", stores.documents.delete(["odd"], access=a))
    await attempt("delete odd key null", stores.documents.delete(["o\0dd"], access=a))
    await attempt("meta", stores.chunks.search_text("alpha", limit=3, filters={"metadata": {"a": 1}}, access=a))
    await attempt("meta vec", stores.chunks.search_vector(unit(1), limit=3, filters={"metadata": {"a": 1}}, access=a))
    await attempt("dates", stores.chunks.search_vector(unit(1), limit=3, filters={"date_from": "2020-01-01", "date_to": "2021-01-01", "category": ["x"]}, access=a))
    await attempt("baddate", stores.chunks.search_vector(unit(1), limit=3, filters={"date_from": "soon"}, access=a))
    await attempt("surrogate q", stores.chunks.search_text("alpha \ud800", limit=3, filters={}, access=a))
    await attempt("surrogate name", stores.entities.find_exact(["alpha \ud800"], access=a))
    await attempt("null name", stores.entities.find_exact(["alpha \0"], access=a))
    await attempt("huge q", stores.chunks.search_text(" ".join(f"w{i}" for i in range(400000)), limit=3, filters={}, access=a))
    await attempt("neg limit", stores.chunks.search_text("alpha", limit=-1, filters={}, access=a))
    await attempt("big id", stores.chunks.fetch([2**70], access=a))
    await attempt("wrong dim q", stores.chunks.search_vector(np.ones(3, dtype=np.float32), limit=3, filters={}, access=a))
    await attempt("seed 0", stores.graph.expand({1: 0.0}, hops=3, limit=1, fanout=5, type_weights={}, access=a))
    await attempt("seed tiny", stores.graph.expand({1: 1e-42, 2: 1e-42}, hops=3, limit=1, fanout=5, type_weights={}, access=a))
    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as c:
        await c.execute("create role weak login")
    weak = make_conninfo(dsn, user="weak")
    await attempt("weak inspect", schema.inspect(weak))
    await attempt("weak migrate prepared", schema.migrate(weak, model="m", dimension=384))
    await attempt("weak ns", schema.namespaces(weak))
    await attempt("weak migrate", schema.migrate(make_conninfo(empty_dsn, user="weak"), model="m", dimension=384))
    d = Database(weak, pool_size=1, pool_timeout=3, ef_search=100)
    await attempt("weak fetch", d.fetch("select * from chunks", {}))
    await d.close()
    async with await psycopg.AsyncConnection.connect(empty_dsn, autocommit=True) as c:
        await c.execute("create extension vector")
    await attempt("weak migrate ext", schema.migrate(make_conninfo(empty_dsn, user="weak"), model="m", dimension=384))
    async with await psycopg.AsyncConnection.connect(empty_dsn, autocommit=True) as c:
        await c.execute("create schema clew")
    await attempt("weak migrate ext schema", schema.migrate(make_conninfo(empty_dsn, user="weak"), model="m", dimension=384))
    await attempt("empty inspect", schema.inspect(empty_dsn))
    await attempt("empty namespaces", schema.namespaces(empty_dsn))
    await attempt("no role", schema.inspect(make_conninfo(dsn, user="nobody_here")))
    await attempt("no db", schema.inspect(make_conninfo(dsn, dbname="nodb")))
    await attempt("bad dsn", schema.inspect("postgresql://:::"))
    await attempt("down", schema.inspect("postgresql://127.0.0.1:1/x"))
    await attempt("dim 0", schema.migrate(empty_dsn, model="m", dimension=384))
    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as c:
        await c.execute("drop role weak")
        cur = await c.execute("show hba_file"); print(await cur.fetchone())
        cur = await c.execute("select datcollate, datctype, datlocprovider from pg_database"); print(await cur.fetchall())
