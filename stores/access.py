"""Who may read what.

Every row carries a namespace (its tenant) and an access list of principals. A row is readable
when its namespace is among those of the `Access` and its access list shares a principal with it.
An entity or a relation carries the union of the access lists of the chunks it was found in, which
makes the same test exact for it: it is readable through at least one chunk the caller may read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .errors import InvalidInput

__all__ = ["PUBLIC", "Access", "Identity", "acting_as", "current_identity"]

PUBLIC = "public"
"""The principal everyone holds. A row whose access list names it may be read by anyone."""


@dataclass(frozen=True, slots=True)
class Access:
    """What one store call may see: rows of these namespaces, open to one of these principals."""

    namespaces: tuple[str, ...]
    principals: tuple[str, ...] = (PUBLIC,)

    def __post_init__(self) -> None:
        if PUBLIC not in self.principals:
            object.__setattr__(self, "principals", (*self.principals, PUBLIC))

    def only_namespace(self) -> str:
        """The one namespace that writing goes to. Raises `InvalidInput` on none or several."""
        if not self.namespaces:
            raise InvalidInput("This caller may not use that namespace; name one of its own.")
        if len(self.namespaces) > 1:
            raise InvalidInput(
                f"Writing needs exactly one namespace, not {len(self.namespaces)}; name one."
            )
        return self.namespaces[0]


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is asking. `namespaces=None` means any namespace: the principals still decide."""

    principals: tuple[str, ...] = ()
    namespaces: tuple[str, ...] | None = None

    def access(self, namespaces: tuple[str, ...]) -> Access:
        """Narrow the asked namespaces to those this identity may enter; never widens."""
        allowed = (
            namespaces
            if self.namespaces is None
            else tuple(name for name in namespaces if name in self.namespaces)
        )
        return Access(allowed, self.principals)


_NOBODY = Identity()
_identity: ContextVar[Identity] = ContextVar("clew_identity", default=_NOBODY)


@contextmanager
def acting_as(*principals: str, namespaces: tuple[str, ...] | None = None) -> Iterator[None]:
    """Run in-process calls as this caller. Unlike configuration, no request body can reach it."""
    token = _identity.set(Identity(principals, namespaces))
    try:
        yield
    finally:
        _identity.reset(token)


def current_identity() -> Identity:
    """The identity of the in-process caller; public passages only unless `acting_as` says more."""
    return _identity.get()
