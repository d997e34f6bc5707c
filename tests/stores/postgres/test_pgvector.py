"""A server whose pgvector is missing or too old."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from clew.stores.errors import StoreMisconfigured
from clew.stores.postgres import binaries, embedded, schema
from clew.stores.postgres.embedded import EmbeddedPostgres


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the server's user may enter too."""
    path = Path(tempfile.mkdtemp(prefix="clew-bare-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
async def bare_dsn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A real server, installed without pgvector."""
    installed = folder / "server"
    binaries._copy(binaries._site_packages(), installed, replace_older=False)
    removed = [path for path in installed.rglob("vector*") if path.is_file()]
    assert removed
    for path in removed:
        path.unlink()
    monkeypatch.setattr(embedded, "programs", lambda *_: installed / binaries._BIN)
    server = EmbeddedPostgres(folder / "data")
    yield await server.start()
    await server.stop()


async def test_a_server_without_pgvector_is_told_what_to_install(bare_dsn: str) -> None:
    with pytest.raises(StoreMisconfigured, match="The server has no pgvector; install the package"):
        await schema.migrate(bare_dsn, model="m", dimension=8)
    assert (await schema.inspect(bare_dsn)).version == 0


async def test_a_pgvector_too_old_is_told_to_update(empty_dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_dsn, autocommit=True) as connection:
        await connection.execute("create extension vector")
        await connection.execute(
            "update pg_extension set extversion = '0.7.4' where extname = 'vector'"
        )
    with pytest.raises(StoreMisconfigured, match=r"has pgvector 0.7.4 and Clew needs 0.8 or later"):
        await schema.migrate(empty_dsn, model="m", dimension=8)
