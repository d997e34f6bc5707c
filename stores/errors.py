"""What a store may raise.

    StoreError
    ├── StoreUnavailable    nobody answers, or too many ask: worth another try, counts for a breaker
    │   └── StoreTimeout    nobody answered in time
    ├── StoreMisconfigured  it answers, but is not what was configured: say so, never retry
    └── InvalidInput        the caller's mistake: the message says what to change
        └── UnknownNamespace

Degradation goes round `StoreUnavailable` only. The rest reaches the caller.
"""

from __future__ import annotations

__all__ = [
    "InvalidInput",
    "StoreError",
    "StoreMisconfigured",
    "StoreTimeout",
    "StoreUnavailable",
    "UnknownNamespace",
]


class StoreError(Exception):
    """Base of everything a store raises; its text is one sentence for people."""


class StoreUnavailable(StoreError):
    """The store does not answer; another try later may succeed."""


class StoreTimeout(StoreUnavailable):
    """The store did not answer within the time it was given."""


class StoreMisconfigured(StoreError):
    """The store answers but cannot be used as it stands: not migrated, no pgvector, other model."""


class InvalidInput(StoreError, ValueError):
    """The caller asked for something that cannot be done; nothing was written."""


class UnknownNamespace(InvalidInput):
    """A namespace was named in which nothing was ever ingested."""
