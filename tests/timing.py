"""Bounds on time, on machines that stall now and then."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec

__all__ = ["best_of_three"]

P = ParamSpec("P")
TRIES = 3


def best_of_three(test: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Run a timed test again when it fails: a stall passes, a broken deadline does not."""

    @functools.wraps(test)
    async def tried(*args: P.args, **kwargs: P.kwargs) -> None:
        for left in reversed(range(TRIES)):
            try:
                await test(*args, **kwargs)
            except AssertionError:
                if not left:
                    raise
            else:
                return

    return tried
