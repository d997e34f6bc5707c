"""What the options of `clew eval` mean: variants, floors, and where a report may go."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from .options import context_from

if TYPE_CHECKING:
    from ...context import RetrievalContext

__all__ = ["contexts_from", "floors_from", "require_place"]

BASE = "base"

_NAME = re.compile(r"[\w.@:+-]+")
_BETWEEN_SETTINGS = re.compile(r",(?=[\w.]+=)")


def contexts_from(
    base: list[str], hops: int | None, variants: list[str] | None
) -> dict[str, RetrievalContext]:
    """The base and each variant, which is the base with more settings, by name.

    `base` is given as NAME=VALUE, `variants` as NAME=SETTING=VALUE,… Raises `InvalidInput`.
    """
    from ...stores.errors import InvalidInput

    if hops is not None:
        base = [*base, f"graph_expansion_hops={hops}"]
    # Each variant asks the same questions: what one has looked up must not speed up the next.
    base = ["caches=false", *base]
    contexts = {BASE: context_from(base)}
    for variant in variants or []:
        name, _, settings = variant.partition("=")
        if not _NAME.fullmatch(name) or "=" not in settings:
            raise InvalidInput(
                f"--variant {variant!r} is not NAME=SETTING=VALUE; write for instance "
                "far=graph_expansion_hops=2."
            )
        if name in contexts:
            raise InvalidInput(f"Two variants are called {name!r}; rename one.")
        contexts[name] = context_from([*base, *_BETWEEN_SETTINGS.split(settings)])
    return contexts


def floors_from(given: list[str] | None) -> dict[str, float]:
    """The least value in [0, 1] of each measure named as MEASURE=VALUE. Raises `InvalidInput`."""
    from ...evaluation.measures import MEASURES
    from ...stores.errors import InvalidInput

    floors = {}
    for floor in given or []:
        name, _, value = floor.partition("=")
        if name not in MEASURES:
            raise InvalidInput(f"--at-least {floor!r} names none of {', '.join(MEASURES)}.")
        try:
            floors[name] = float(value)
        except ValueError:
            floors[name] = -1.0
        if not 0 <= floors[name] <= 1:
            raise InvalidInput(f"--at-least {floor!r} needs a value in [0, 1], such as {name}=0.9.")
    return floors


def require_place(into: Path | None) -> None:
    """Say before the evaluation, not after it, that its report could not be saved.

    Raises `InvalidInput`.
    """
    from ...stores.errors import InvalidInput

    if into is not None and (into.is_dir() or not into.absolute().parent.is_dir()):
        raise InvalidInput(f"--into {into} cannot be written; name a file in a folder that exists.")
