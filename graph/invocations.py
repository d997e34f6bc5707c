"""Which call of the graph a step runs in; someone who steps through one run makes several."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from cachetools import LRUCache
from langgraph.runtime import Runtime

from ..state import StepTime

__all__ = ["invocation_of"]

MOST = 10_000
"""Calls that are told apart at once in a process."""

_lock = threading.Lock()
_calls: LRUCache[int, tuple[object, str]] = LRUCache(MOST)


def invocation_of(steps: Sequence[StepTime], runtime: Runtime[Any]) -> str:
    """That of the step before, when it ran in the same call; else a new one.

    LangGraph names no call to its nodes, but gives each of them what controls the call. Runs beside
    each other inside another graph share that, and differ in how they began.
    """
    call = _call(runtime.control)
    if steps and steps[-1]["invocation"].endswith(call):
        return steps[-1]["invocation"]
    return f"{uuid4().hex}.{call}"


def _call(control: object) -> str:
    """A name for it. It is kept, lest another gets its place in memory and with that its name."""
    with _lock:
        held = _calls.get(id(control))
        if held is None:
            held = _calls[id(control)] = (control, uuid4().hex[:12])
        return held[1]
