"""How one statement is said to different servers.

The statements of `queries` are written in Neo4j 5's Cypher. A dialect puts the label prefix in and
rewrites the little that the server says differently. All it touches is our own text: labels and
names never come from data, which travels as parameters only.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from typing_extensions import override

from . import queries

__all__ = ["Dialect", "Neo4j5", "Neptune"]

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LABEL = re.compile(r":(?=(?:Entity|Chunk|Audience|Document|RELATES_TO|MENTIONED_IN)\b)")
_CALL = re.compile(r"CALL \(([\w, ]+)\) \{")
_LIMIT = re.compile(r"LIMIT \$(\w+)")
_LIST = re.compile(r"\bIN (\w+\.(?:audiences|principals))\b")


@dataclass(frozen=True)
class Dialect(ABC):
    """What a server understands.

    `prefix` goes before every label and relation type, so that several graphs fit in one database.
    Raises `ValueError` on one that is not letters, digits and underscores after a letter.
    """

    prefix: str = ""

    def __post_init__(self) -> None:
        if self.prefix and not _PREFIX.fullmatch(self.prefix):
            raise ValueError(
                f"The label prefix {self.prefix!r} must be a letter, then letters, digits and "
                "underscores."
            )

    @abstractmethod
    def render(self, statement: str, params: Mapping[str, Any]) -> str:
        """The statement as this server wants it; `params` are those it will run with."""

    @property
    @abstractmethod
    def schema(self) -> Sequence[str]:
        """Statements that create constraints and indexes; each may be repeated."""

    @abstractmethod
    def pack(self, values: Iterable[int | str]) -> Any:
        """A list as the value of a property."""

    @abstractmethod
    def members(self, values: Iterable[int | str]) -> list[Any]:
        """Values as they compare with the members of a packed list."""

    @abstractmethod
    def unpack_texts(self, packed: Any) -> list[str]:
        """The texts that were packed, in order."""

    def unpack_numbers(self, packed: Any) -> list[int]:
        """The numbers that were packed, in order."""
        return [int(text) for text in self.unpack_texts(packed)]

    def _labelled(self, statement: str) -> str:
        return _LABEL.sub(f":{self.prefix}", statement)


@dataclass(frozen=True)
class Neo4j5(Dialect):
    """Neo4j 5.23 or later, and what speaks its Cypher."""

    @override
    def render(self, statement: str, params: Mapping[str, Any]) -> str:
        """The statement with the prefix in it."""
        return self._labelled(statement)

    @property
    def schema(self) -> Sequence[str]:
        """Unique ids, and an index for each other way in."""
        return [statement.replace("<prefix>", self.prefix) for statement in queries.SCHEMA]

    def pack(self, values: Iterable[int | str]) -> Any:
        """A list, as it is."""
        return list(values)

    def members(self, values: Iterable[int | str]) -> list[Any]:
        """The values, as they are."""
        return list(values)

    def unpack_texts(self, packed: Any) -> list[str]:
        """The list, as it is."""
        return [str(value) for value in packed or []]


@dataclass(frozen=True)
class Neptune(Dialect):
    """Amazon Neptune 1.4.1 or later.

    It imports into a subquery by WITH, takes no parameter as a LIMIT, indexes everything by itself
    and knows no lists as properties: they are kept as words, escaped, between spaces.
    """

    def render(self, statement: str, params: Mapping[str, Any]) -> str:
        """The statement with limits written out. Raises `TypeError` on one that is no integer."""

        def written_out(match: re.Match[str]) -> str:
            value = params[match[1]]
            if type(value) is not int:
                raise TypeError(f"A limit must be an integer, not {value!r}.")
            return f"LIMIT {value}"

        said = _CALL.sub(r"CALL { WITH \1", self._labelled(statement))
        said = _LIST.sub(r"IN split(\1, ' ')", said)
        return _LIMIT.sub(written_out, said)

    @property
    def schema(self) -> Sequence[str]:
        """Nothing."""
        return ()

    def pack(self, values: Iterable[int | str]) -> Any:
        """Words between spaces."""
        return " ".join(self.members(values))

    def members(self, values: Iterable[int | str]) -> list[Any]:
        """Escaped words; `%`, which escaping never leaves alone, stands for the empty one."""
        return [quote(str(value), safe="") or "%" for value in values]

    def unpack_texts(self, packed: Any) -> list[str]:
        """The words, with what was escaped restored."""
        return ["" if word == "%" else unquote(word) for word in (packed or "").split()]
