"""Asynchronous work, waited for by code that is not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["wait_for"]

T = TypeVar("T")

_starting = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns or raises; with `acting_as` and the run's callbacks as the caller's are.

    All work runs in one event loop, in a thread of its own, which keeps the services it opened
    until the process ends. So it may be called from any thread, with and without a running loop;
    but a running one stands still meanwhile.
    """
    future = asyncio.run_coroutine_threadsafe(work, _background())
    try:
        return future.result()
    finally:
        future.cancel()  # of a caller that was interrupted; nothing when the work is done


def _background() -> asyncio.AbstractEventLoop:
    global _loop
    with _starting:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="clew", daemon=True).start()
        return _loop
