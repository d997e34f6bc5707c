"""Waiting for so long and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["within"]

T = TypeVar("T")

GRACE_SECONDS = 0.01
"""For work that was cancelled to tidy up."""

_left_behind: set[asyncio.Task[Any]] = set()


async def within(seconds: float, work: Coroutine[Any, Any, T], *, slack: float = 0.0) -> T:
    """The result of `work`; `TimeoutError` when it takes longer, whatever it does about that.

    `slack`: seconds more for work that minds the time itself, counted from when its time was seen
    to be over: a busy loop would otherwise see both ends at once, and cut off what was about to
    say by itself that it is late.

    A driver that is cancelled may first tell a frozen server, and wait for its reply. Nobody waits
    for that here: it is left behind, to end when it can.
    """
    if seconds == float("inf"):
        return await work
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if slack and not task.done():
            await asyncio.wait({task}, timeout=slack)
    finally:
        if not task.done():
            task.cancel()
            _left_behind.add(task)
            task.add_done_callback(_forget)
    if not task.done():
        await asyncio.wait({task}, timeout=GRACE_SECONDS)
        raise TimeoutError
    return task.result()


def _forget(task: asyncio.Task[Any]) -> None:
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()  # marks it as seen: the caller was told of the time
