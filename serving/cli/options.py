"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ...context import RetrievalContext

__all__ = [
    "As",
    "Hops",
    "Json",
    "Namespace",
    "Namespaces",
    "Overrides",
    "Persona",
    "Question",
    "TopK",
    "context_from",
]

SWITCHES = frozenset({"on", "off", "yes", "no"})

Question = Annotated[str, typer.Argument(help="The question, in your own words.")]
Namespaces = Annotated[
    list[str] | None,
    typer.Option("--namespace", "-n", help="Where to look; may be given again."),
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Where it goes.")]
As = Annotated[
    list[str] | None,
    typer.Option("--as", help="A principal you act as, beside the public; may be given again."),
]
Hops = Annotated[
    int | None, typer.Option("--hops", help="How far to walk from the named entities: 1 to 3.")
]
TopK = Annotated[int | None, typer.Option("--top-k", "-k", help="Passages returned.")]
Persona = Annotated[
    str | None, typer.Option("--persona", help="Who reads: a name in personas.yaml.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="Any run setting as NAME=VALUE; may be given again."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def context_from(
    overrides: list[str] | None,
    *,
    hops: int | None = None,
    top_k: int | None = None,
    persona: str | None = None,
    base: Mapping[str, Any] | None = None,
) -> RetrievalContext:
    """The run's settings from the command line, on top of `base`; values are read as YAML.

    Raises `InvalidInput`.
    """
    import yaml

    from ...context import RetrievalContext
    from ...stores.errors import InvalidInput

    values: dict[str, Any] = deepcopy(dict(base or {}))
    for override in overrides or []:
        name, equals, value = override.partition("=")
        if not equals:
            raise InvalidInput(f"--set {override!r} has no '='; write NAME=VALUE.")
        *outer, last = name.split(".")
        place = values
        for part in outer:
            place = place.setdefault(part, {})
        # YAML takes "off" for false, which some settings spell so; pydantic takes it for either.
        place[last] = value if value.lower() in SWITCHES else yaml.safe_load(value)
    if hops is not None:
        values["graph_expansion_hops"] = hops
    if top_k is not None:
        values["top_k"] = top_k
    if persona is not None:
        values["persona"] = persona
    return RetrievalContext.model_validate(values)
