"""The commands in the documentation run as they stand there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```(sh|python)\n(.*?)```", re.DOTALL)
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
def test_every_command_on_the_page_works(page: Path, data_dir: Path) -> None:
    bare = {key: value for key, value in os.environ.items() if not key.startswith("CLEW_")}
    tools = f"{Path(sys.executable).parent}{os.pathsep}{bare['PATH']}"
    environment = {
        **bare,
        "PATH": tools,
        "CLEW_DATA_DIR": str(data_dir),
        "HF_HUB_OFFLINE": "1",
    }
    for language, text in blocks(page):
        program = ["bash", "-euc", text] if language == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            program,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip(), f"{text} said nothing"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_link_of_the_page_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_there_is_something_to_run() -> None:
    assert len(blocks(ROOT / "README.md")) >= 5
