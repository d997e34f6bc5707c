"""`clew eval compare`: the A/B test of two saved reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Json
from .show import Markdown, show

__all__ = ["compare"]


def compare(
    before: Annotated[Path, typer.Argument(help="A report saved with --into.", metavar="A.json")],
    after: Annotated[
        Path, typer.Argument(help="Another of the same dataset and questions.", metavar="B.json")
    ],
    as_markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """Compare two saved reports: differences with intervals, and what gained and lost most."""
    from ...evaluation.comparison import compare as compared
    from ...evaluation.report import load_report
    from ...evaluation.tables import comparison_page

    alike = before.stem == after.stem
    names = (str(before), str(after)) if alike else (before.stem, after.stem)
    found = compared(load_report(before), load_report(after), names)
    show(
        comparison_page(found, names),
        found.model_dump(),
        as_markdown=as_markdown,
        as_json=as_json,
    )
