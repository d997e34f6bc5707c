"""`clew path`: how two entities are connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import As, Json, Namespaces

if TYPE_CHECKING:
    from ...stores.access import Access
    from ...stores.protocols import EntityStore
    from ...stores.records import PathStep

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
    from ...services import current_services
    from ...stores.access import current_identity
    from ...stores.errors import InvalidInput
    from ...stores.paths import shortest_path
    from . import render
    from .running import run

    async def work() -> list[PathStep] | None:
        services = await current_services()
        spaces = tuple(namespaces or [services.settings.namespace])
        access = current_identity().access(spaces)
        ends = [await _entity(services.entities, name, access) for name in (source, target)]
        return await shortest_path(services.graph, ends[0], ends[1], hops=hops, access=access)

    steps = run(work, principals)
    if steps is None:
        raise InvalidInput(f"No path of at most {hops} relations is known; try more --hops.")
    if as_json:
        render.json_output({"path": steps})
        return
    for step in steps:
        render.note(f"{step['source']} —{step['type']}→ {step['target']}  ({step['weight']:.2f})")


async def _entity(entities: EntityStore, name: str, access: Access) -> int:
    """The most mentioned entity of this name."""
    from ...models.names import normalise
    from ...stores.errors import InvalidInput

    found = await entities.find_exact([normalise(name)], access=access)
    if not found:
        raise InvalidInput(f"No entity is called {name!r}; `clew ask` shows names as they are.")
    return min(found, key=lambda m: (-m["score"], -m["entity"]["df"], m["entity"]["id"]))["entity"][
        "id"
    ]
