"""`clew path`: how two entities are connected."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import As, Json, Namespaces

__all__ = ["path"]


def path(
    source: Annotated[str, typer.Argument(help="An entity's name or alias.")],
    target: Annotated[str, typer.Argument(help="Another's.")],
    namespaces: Namespaces = None,
    principals: As = None,
    hops: Annotated[int, typer.Option("--hops", help="Relations at most: 1 to 6.")] = 4,
    as_json: Json = False,
) -> None:
    """Show the shortest thread of relations between two entities.

    [bold]clew path "Lou Breslow" "Marion Byron" -n demo[/bold]
    """
    from ...stores.errors import InvalidInput
    from ..connecting import connect
    from . import render
    from .running import run

    steps = run(lambda: connect(source, target, namespaces=namespaces or (), hops=hops), principals)
    if steps is None:
        raise InvalidInput(f"No path of at most {hops} relations is known; try more --hops.")
    if as_json:
        render.json_output({"path": steps})
        return
    for step in steps:
        render.note(f"{step['source']} —{step['type']}→ {step['target']}  ({step['weight']:.2f})")
