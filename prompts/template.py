"""A prompt with named places, checked when it is made."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from string import Formatter

__all__ = ["Prompt", "delimited", "printable"]


@dataclass(frozen=True)
class Prompt:
    """`text` with `{places}`; `version` goes up whenever the text or the answer's shape changes."""

    name: str
    version: int
    text: str
    places: frozenset[str]

    def __post_init__(self) -> None:
        found = {place for _, place, _, _ in Formatter().parse(self.text) if place is not None}
        if found != self.places:
            raise ValueError(
                f"Prompt {self.name} has places {sorted(found)}, not {sorted(self.places)}."
            )

    def fill(self, **values: str) -> str:
        """The text with every place filled."""
        return self.text.format(**values)


def delimited(text: str) -> str:
    """Untrusted text between marks it cannot contain, since they are drawn anew each time."""
    mark = secrets.token_hex(8)
    return f"<data-{mark}>\n{text}\n</data-{mark}>"


def printable(text: str) -> str:
    """A model's words on one line, without what no database stores: null bytes, half surrogates."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
