"""Who is calling the server: what every way of authenticating comes to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from ..stores.errors import InvalidInput

__all__ = ["Authenticator", "Caller", "CannotTell", "Refused", "bearer"]

NAMESPACE = "namespace:"


class Refused(Exception):
    """Nobody may call like this. The sentence goes to the caller and says what to change."""


class CannotTell(Exception):
    """What would tell callers apart is out of order. The sentence goes to the log only."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who has shown who they are.

    `identity` and `groups` are the principals that access lists are held against. `namespaces` are
    those that may be entered, `*` any; without one, none.
    """

    identity: str
    groups: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.identity:
            raise InvalidInput("A caller needs an identity that is not empty.")
        if any(group.startswith(NAMESPACE) for group in self.groups):
            raise InvalidInput(f"A group may not begin with {NAMESPACE!r}; list the namespace.")

    @property
    def permissions(self) -> list[str]:
        """The same as the server's permissions, which `clew.graph.given.identity_of` reads."""
        return [*self.groups, *(f"{NAMESPACE}{name}" for name in self.namespaces)]


Authenticator = Callable[[Mapping[str, str]], Awaitable[Caller | None]]
"""From a request's headers, their names in lower case: who sent it, or `None` when it cannot say.

Raises `Refused` when nobody else need be asked, `CannotTell` when it is out of order.
"""


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token of `Authorization: Bearer TOKEN`, if there is one."""
    scheme, _, token = headers.get("authorization", "").strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
