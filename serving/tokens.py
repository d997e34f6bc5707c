"""Callers by a file of tokens, of which it holds only the digests."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..stores.errors import InvalidInput
from .callers import Caller, CannotTell, bearer

__all__ = ["TokenFile"]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    token_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    identity: str
    groups: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    @property
    def caller(self) -> Caller:
        return Caller(self.identity, self.groups, self.namespaces)


_ENTRIES = TypeAdapter(list[_Entry])
_Stamp = tuple[int, int, int]


class TokenFile:
    """Who holds which token, read again whenever the file changes.

    A YAML list of `{token_sha256, identity, groups, namespaces}`, the digest in lower-case
    hexadecimal. Raises `InvalidInput` when the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp, self._callers = self._read()

    async def __call__(self, headers: Mapping[str, str]) -> Caller | None:
        """The holder of the token; `None` when it is not in the file.

        Raises `CannotTell` when the file has been changed and cannot be used any more.
        """
        token = bearer(headers)
        return None if token is None else await asyncio.to_thread(self._holder, token)

    def _holder(self, token: str) -> Caller | None:
        digest = hashlib.sha256(token.encode()).hexdigest()
        found = None
        for known, caller in self._current().items():
            # No early end: how long it takes must not tell where a digest stands, or how near.
            if hmac.compare_digest(known, digest):
                found = caller
        return found

    def _current(self) -> dict[str, Caller]:
        try:
            with self._lock:
                if self._seen() != self._stamp:
                    self._stamp, self._callers = self._read()
                return self._callers
        except (OSError, InvalidInput) as error:
            raise CannotTell(str(error)) from error

    def _seen(self) -> _Stamp:
        status = self._path.stat()
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> tuple[_Stamp, dict[str, Caller]]:
        said = f"The tokens {self._path} (CLEW_AUTH_TOKENS)"
        try:
            stamp = self._seen()
            entries = _ENTRIES.validate_python(yaml.safe_load(self._path.read_text("utf-8")))
            callers = {entry.token_sha256: entry.caller for entry in entries}
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{said} cannot be read: {error}") from error
        # What stands in the file may be a token that was put there by mistake: it is not repeated.
        except yaml.YAMLError as error:
            line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
            raise InvalidInput(f"{said} are not YAML; look at line {line}.") from None
        except ValidationError as error:
            raise InvalidInput(f"{said}: {_told(error)}.") from None
        except InvalidInput as error:
            raise InvalidInput(f"{said}: {error}") from None
        if len(callers) < len(entries):
            raise InvalidInput(f"{said} hold one token twice; give each holder their own.")
        return stamp, callers


def _told(error: ValidationError) -> str:
    """The first mistake: in which entry, which field, what it is."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = [f"entry {part + 1}" if isinstance(part, int) else part for part in first["loc"][:2]]
    if first["type"] == "string_pattern_mismatch":
        return f"{', '.join(where)}: this is not a SHA-256 in 64 lower-case hexadecimal digits"
    return ": ".join(filter(None, [", ".join(where), first["msg"]]))
