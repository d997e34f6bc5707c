"""The commands in the documentation run as they stand there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.tests.serving.conftest import main_here

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```(sh|python)\n(.*?)```", re.DOTALL)
SHELL = {"|", ">", "<", "&&", ";", "&"}
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of each block that is to run."""
    return [(m[2], m[3]) for m in BLOCK.finditer(page.read_text("utf-8")) if not m[1]]


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """An embedded database that the pages share, in their order."""
    folder = Path(tempfile.mkdtemp(prefix="clew-docs-"))
    folder.chmod(0o755)
    yield folder / "data"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_the_page_works(
    page: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"CLEW_DATA_DIR": str(data_dir), "HF_HUB_OFFLINE": "1"}
    monkeypatch.chdir(ROOT)
    for language, text in blocks(page):
        for command in commands(text) if language == "sh" else [[sys.executable, "-c", text]]:
            if command[0] == "clew":
                done = main_here(
                    *command[1:], environment=environment, patch=monkeypatch, capsys=capsys
                )
            else:
                done = run(command, environment)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            assert done.stdout.strip(), f"{command} said nothing"


def commands(text: str) -> list[list[str]]:
    """The commands of a block: each by itself when all are `clew`, which then run in this process
    with the libraries that it has loaded; else the whole of it as a script.
    """
    lines = [shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines()]
    given = [line for line in lines if line]
    plain = all(line[0] == "clew" and not SHELL & set(line) for line in given)
    return given if plain else [["bash", "-euc", text]]


def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    bare = {key: value for key, value in os.environ.items() if not key.startswith("CLEW_")}
    tools = f"{Path(sys.executable).parent}{os.pathsep}{bare['PATH']}"
    return subprocess.run(
        command,
        env={**bare, "PATH": tools, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_link_of_the_page_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_there_is_something_to_run() -> None:
    assert len(blocks(ROOT / "README.md")) >= 5
