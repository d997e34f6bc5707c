"""What a process holds is opened once, shared, and never half."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.services import close_services, current_services, open_services
from clew.settings import Settings, load_settings
from clew.stores.errors import InvalidInput, StoreUnavailable


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A folder that the embedded server's user may enter too."""
    path = Path(tempfile.mkdtemp(prefix="clew-services-"))
    path.chmod(0o755)
    yield path / "data"
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def fresh_settings() -> Iterator[None]:
    load_settings.cache_clear()
    yield
    load_settings.cache_clear()


async def test_an_opening_that_fails_late_stops_the_server_it_had_started(
    data_dir: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "curated.yaml"
    broken.write_text("- name: [")
    with pytest.raises(InvalidInput):
        await open_services(Settings(data_dir=data_dir, curated_entities=broken))
    assert (data_dir / "pgdata" / "PG_VERSION").exists(), "the server had been started"
    assert not (data_dir / "pgdata" / "postmaster.pid").exists(), "and must be gone"


async def test_a_failed_opening_is_forgotten_and_a_good_one_is_shared(
    dsn: str, monkeypatch: pytest.MonkeyPatch, fresh_settings: None
) -> None:
    monkeypatch.setenv("CLEW_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    with pytest.raises(StoreUnavailable):
        await current_services()
    load_settings.cache_clear()
    monkeypatch.setenv("CLEW_DATABASE_URL", dsn)
    first, second = await asyncio.gather(current_services(), current_services())
    assert first is second
    assert await first.database.fetch("select 1 as one", {}) == [{"one": 1}]
    await close_services()
    with pytest.raises(StoreUnavailable):
        await first.database.fetch("select 1", {})


async def test_a_caller_that_gives_up_does_not_take_the_opening_from_the_others(
    dsn: str, monkeypatch: pytest.MonkeyPatch, fresh_settings: None
) -> None:
    monkeypatch.setenv("CLEW_DATABASE_URL", dsn)
    impatient = asyncio.create_task(current_services())
    await asyncio.sleep(0)
    patient = asyncio.create_task(current_services())
    await asyncio.sleep(0.01)
    impatient.cancel()
    services = await patient
    assert impatient.cancelled()
    assert await current_services() is services
    await close_services()
