"""The list of names to recognise, as people add to it; and the names they do not want."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ..models.names import fold, normalise
from ..models.recognizer import NAME, CuratedEntity, Recognizer
from ..stores.errors import InvalidInput
from .report import write_whole

__all__ = ["CuratedList", "decisions"]


def decisions(
    accept: Sequence[str], reject: Sequence[str]
) -> tuple[list[CuratedEntity], list[str]]:
    """The entities that NAME or NAME=TYPE stand for, and the names. Raises `InvalidInput`."""
    entities = [_entity(given) for given in accept]
    if not all(map(normalise, reject)):
        raise InvalidInput("The name to reject is empty; give one.")
    refused = {normalise(name) for name in reject}
    for one in entities:
        if normalise(one.name) in refused:
            raise InvalidInput(f"{one.name!r} cannot be both accepted and rejected; choose one.")
    return entities, list(reject)


def _entity(given: str) -> CuratedEntity:
    name, equals, type_ = given.rpartition("=")
    name, type_ = (name.strip(), type_.strip()) if equals else (given.strip(), NAME)
    if not fold(name) or not type_:
        raise InvalidInput(
            f"{given!r} cannot be accepted: write NAME or NAME=TYPE, the name with a letter or "
            "digit in it."
        )
    return CuratedEntity(name=name, type=type_)


class CuratedList:
    """A YAML list as `Recognizer.load` reads it, and beside it `<name>.rejected`, a name a line."""

    def __init__(self, path: Path) -> None:
        """Read both files; what is not there is empty. Raises `InvalidInput`."""
        self.path = path
        self.rejects = path.with_name(f"{path.name}.rejected")
        self._text = ""
        self._rows: list[dict[str, Any]] = []
        if path.exists():
            Recognizer.load(path)  # says what is wrong with it
            self._text = path.read_text(encoding="utf-8")
            self._rows = yaml.safe_load(self._text) or []
        try:
            lines = self.rejects.read_text("utf-8").splitlines() if self.rejects.exists() else []
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"The rejected names {self.rejects} cannot be read: {error}"
            ) from error
        self._rejected = [line for line in lines if line.strip()]

    @property
    def decided(self) -> set[str]:
        """Everything that is listed or rejected, normalised."""
        return {normalise(name) for name in (*self._spellings(), *self._rejected)}

    def _spellings(self) -> list[str]:
        return [name for row in self._rows for name in (row["name"], *row.get("aliases", ()))]

    def accept(self, entities: Sequence[CuratedEntity]) -> list[CuratedEntity]:
        """Append what is not listed yet under any type, and return it. Raises `InvalidInput`."""
        listed = {fold(name) for name in self._spellings()}
        added = []
        for one in entities:
            if fold(one.name) not in listed:
                listed.add(fold(one.name))
                added.append(one)
        if added:
            rows = [{"name": one.name, "type": one.type} for one in added]
            text = _appended(self._text, self._rows, rows)
            write_whole(self.path, text)
            self._text, self._rows = text, [*self._rows, *rows]
        return added

    def reject(self, names: Sequence[str]) -> None:
        """Remember names that are not to be shown again. Raises `InvalidInput`."""
        rejected = list(dict.fromkeys([*self._rejected, *map(normalise, names)]))
        if rejected != self._rejected:
            write_whole(self.rejects, "".join(f"{name}\n" for name in rejected))
            self._rejected = rejected


def _appended(text: str, rows: list[dict[str, Any]], new: list[dict[str, Any]]) -> str:
    """The list with more at its end; comments stay, unless its layout cannot be continued."""
    continued = f"{text.rstrip()}\n{_dumped(new)}".lstrip("\n")
    try:
        kept = yaml.safe_load(continued) == [*rows, *new]
    except yaml.YAMLError:
        kept = False
    return continued if kept else _dumped([*rows, *new])


def _dumped(rows: list[dict[str, Any]]) -> str:
    return str(yaml.safe_dump(rows, allow_unicode=True, sort_keys=False))
