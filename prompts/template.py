"""A prompt with named places, checked when it is made, and the words a model answers with."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from string import Formatter
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, BaseModel

__all__ = ["LONGEST", "Prompt", "Words", "delimited", "printable"]

T = TypeVar("T", bound=BaseModel)

LONGEST = 200
"""Characters of a name or a phrase in an answer; what is longer names nothing."""


@dataclass(frozen=True)
class Prompt(Generic[T]):
    """`text` with `{places}`, and `answer`, the shape that is asked for.

    `data` places are filled with untrusted text, which is put between marks; `plain` places with
    words of ours. `version` goes up whenever the text or the answer's shape changes.
    """

    name: str
    version: int
    text: str
    answer: type[T]
    data: frozenset[str]
    plain: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        found = {place for _, place, _, _ in Formatter().parse(self.text) if place is not None}
        if found != self.places:
            raise ValueError(
                f"Prompt {self.name} has places {sorted(found)}, not {sorted(self.places)}."
            )
        if self.data & self.plain:
            raise ValueError(f"Prompt {self.name} has places that are both data and plain.")

    @property
    def places(self) -> frozenset[str]:
        """Everything that has to be filled."""
        return self.data | self.plain

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with every place filled. Raises `ValueError` when one is missing or unknown."""
        self._check(values)
        return self.text.format(
            **{
                place: delimited(value) if place in self.data else value
                for place, value in values.items()
            }
        )

    def key(self, values: Mapping[str, str]) -> str:
        """SHA-256 of name, version and values: equal for equal questions, whatever the marks."""
        self._check(values)
        asked = json.dumps([self.name, self.version, dict(values)], sort_keys=True)
        return sha256(asked.encode("ascii")).hexdigest()

    def _check(self, values: Mapping[str, str]) -> None:
        if values.keys() != self.places:
            raise ValueError(
                f"Prompt {self.name} takes {sorted(self.places)}, not {sorted(values)}."
            )


def delimited(text: str) -> str:
    """Untrusted text between marks it cannot contain, since they are drawn anew each time."""
    mark = secrets.token_hex(8)
    return f"<data-{mark}>\n{text}\n</data-{mark}>"


def printable(text: str) -> str:
    """A model's words on one line, without what no database stores: null bytes, half surrogates."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


Words = Annotated[str, AfterValidator(lambda text: printable(text)[:LONGEST].strip())]
"""A name or a phrase that a model answered with, cleaned and cut; it may come out empty."""
