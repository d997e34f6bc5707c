"""A page of tables and sentences in the form that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ...evaluation.tables import Page

__all__ = ["Markdown", "show"]

Markdown = Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")]


def show(page: Page, values: Mapping[str, Any], *, as_markdown: bool, as_json: bool) -> None:
    """Print the page, as Markdown or for a terminal, or `values` as JSON."""
    from ...evaluation.tables import markdown
    from . import render

    if as_json:
        render.json_output(values)
    elif as_markdown:
        render.plain(markdown(page))
    else:
        for part in page:
            if isinstance(part, str):
                render.note(part)
            else:
                render.table(*part)
