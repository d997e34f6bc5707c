"""Commands, in this process or in one of their own, on a database of the test's."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from clew.services import close_services
from clew.serving.blocking import wait_for
from clew.serving.cli import main
from clew.settings import load_settings

CORPUS = Path(__file__).parents[2] / "demo" / "corpus"
Command = Callable[..., subprocess.CompletedProcess[str]]


def main_here(
    *arguments: str,
    environment: Mapping[str, str],
    patch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> subprocess.CompletedProcess[str]:
    """`clew` in this process, which has the heavy libraries loaded already."""
    for key in [key for key in os.environ if key.startswith("CLEW_")]:
        patch.delenv(key)
    for key, value in {"COLUMNS": "200", **environment}.items():
        patch.setenv(key, value)
    patch.setattr(sys, "argv", ["clew", *arguments])
    load_settings.cache_clear()
    code = 0
    try:
        main()
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    finally:
        load_settings.cache_clear()
    said = capsys.readouterr()
    return subprocess.CompletedProcess(list(arguments), code, said.out, said.err)


def run_clew(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """`clew` with these arguments and nothing of Clew's environment but what is given."""
    bare = {key: value for key, value in os.environ.items() if not key.startswith("CLEW_")}
    return subprocess.run(
        [sys.executable, "-c", "from clew.serving.cli import main; main()", *arguments],
        env={**bare, "HF_HUB_OFFLINE": "1", "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`clew` in this process with just the environment given."""

    def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return main_here(*arguments, environment=environment, patch=monkeypatch, capsys=capsys)

    return command


@pytest.fixture
def clew(here: Command, dsn: str) -> Command:
    """`clew` in this process on the test's own prepared database."""

    def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return here(*arguments, **{"CLEW_DATABASE_URL": dsn, **environment})

    return command


@pytest.fixture
async def in_process(dsn: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """The services that this process opens by itself stand on the test's own database."""
    for key in [key for key in os.environ if key.startswith("CLEW_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("CLEW_DATABASE_URL", dsn)
    load_settings.cache_clear()
    yield
    await close_services()
    await asyncio.to_thread(wait_for, close_services())
    load_settings.cache_clear()
