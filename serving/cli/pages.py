"""Pages that carry what a command printed, between marks."""

from __future__ import annotations

import re
from pathlib import Path

import typer

__all__ = ["replace_between"]


def replace_between(page: Path, mark: str, text: str) -> None:
    """Put text between the marks `<!-- mark -->` and `<!-- /mark -->` of a Markdown page."""
    old = page.read_text("utf-8")
    marked = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
    if not marked.search(old):
        raise typer.BadParameter(f"{page} has no <!-- {mark} --> marks.")
    page.write_text(marked.sub(lambda m: f"{m[1]}{text.strip()}\n{m[2]}", old), "utf-8")
