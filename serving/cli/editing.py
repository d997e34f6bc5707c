"""Changing a run's state by hand: one value at a time, checked before a step meets it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, get_type_hints

import yaml
from langgraph.channels import BinaryOperatorAggregate
from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError

from ...graph.retrieval import graph
from ...state import RetrievalState
from ...stores.errors import InvalidInput

__all__ = ["assigned", "chosen", "edited", "read_yaml"]

State = Mapping[str, Any]


def assigned(state: State, assignment: str) -> dict[str, Any]:
    """The update that `KEY=VALUE` stands for; the value is YAML. Raises `InvalidInput`."""
    path, equals, value = assignment.partition("=")
    if not equals:
        raise InvalidInput(f"{assignment!r} has no '='; write KEY=VALUE.")
    return edited(state, path, read_yaml(value))


def read_yaml(text: str) -> Any:
    """The value. Raises `InvalidInput`."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise InvalidInput(f"That is not YAML: {said}; mend it.") from error


def chosen(state: State, path: str) -> Any:
    """What stands at a path such as `traversal.hops` or `seeds.0.score`. Raises `InvalidInput`."""
    place: Any = state
    for part in _parts(path):
        place = place[_step(place, part, path)]
    return place


def edited(state: State, path: str, value: Any) -> dict[str, Any]:
    """The update that puts a value at a path. Raises `InvalidInput` when it does not fit there."""
    *outer, last = _parts(path)
    key = path.partition(".")[0]
    changed = {key: deepcopy(chosen(state, key))}
    place: Any = changed
    for part in outer:
        place = place[_step(place, part, path)]
    place[_step(place, last, path)] = value
    kind = TypeAdapter(get_type_hints(RetrievalState, include_extras=True)[key])
    try:
        kind.validate_python(changed[key], strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([key, *map(str, first["loc"])])
        raise InvalidInput(f"{where}: {first['msg']} (it is {first['input']!r}).") from error
    # What steps add to is replaced here, or the old would stand before the new.
    adds = isinstance(graph.channels[key], BinaryOperatorAggregate)
    return {key: Overwrite(changed[key]) if adds else changed[key]}


def _parts(path: str) -> list[str]:
    return path.strip().split(".")


def _step(place: Any, part: str, path: str) -> str | int:
    if isinstance(place, Mapping):
        if part in place:
            return part
        raise InvalidInput(
            f"There is no {part!r} in {path!r}; it is one of {', '.join(map(str, place)) or '-'}."
        )
    if isinstance(place, list):
        if part.isdecimal() and int(part) < len(place):
            return int(part)
        raise InvalidInput(f"{part!r} in {path!r} is no place in a list of {len(place)}, from 0.")
    raise InvalidInput(f"There is nothing below {part!r} in {path!r}; it is a value.")
