"""One question under a fault, and what every answer owes to whoever asked it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.context import RetrievalContext
from clew.graph import retrieval
from clew.services import Services
from clew.stores.errors import StoreError
from clew.tests.graph.scene import giving

__all__ = ["BUDGET_MS", "QUESTION", "Asked", "asking", "is_sentence"]

BUDGET_MS = 1000
TOLERANCE = 1.1
QUESTION = "Whom did Katherine Mansfield marry?"


@dataclass(frozen=True)
class Asked:
    """What came of one question, after `ms` milliseconds: an output or an error."""

    ms: float
    output: dict[str, Any] = field(default_factory=dict)
    error: StoreError | None = None

    @property
    def found(self) -> list[str]:
        """The ids of the passages, in their order."""
        return [document.id for document in self.output["documents"]]

    @property
    def lost(self) -> dict[str, str]:
        """Why, by stage, the run went without something."""
        return {entry["stage"]: entry["reason"] for entry in self.output["degraded"]}

    @property
    def failed(self) -> set[str]:
        """The stages without any result."""
        return {entry["stage"] for entry in self.output["degraded"] if entry["failed"]}

    @property
    def mode(self) -> str:
        """Which way the run was planned to go."""
        plan: dict[str, str] = self.output["diagnostics"]["plan"]
        return plan["mode"]


def asking(
    services: Services, *, at: Mapping[str, Callable[[], None]] | None = None, **fields: Any
) -> Callable[..., Awaitable[Asked]]:
    """Ask these services once a call, under the budget; fails what is late or says no sentence.

    `at`: what happens as soon as a step has ended.
    """
    graph = retrieval.build(giving(services)).compile()
    # What was found a moment ago would hide what is broken now.
    context = RetrievalContext(**{"budget_ms": BUDGET_MS, "caches": False, **fields})
    happenings = at or {}

    async def ask(question: str = QUESTION) -> Asked:
        begun = time.perf_counter()
        output: dict[str, Any] = {}
        error = None
        stream: Any = graph.astream(
            {"question": question}, context=context, stream_mode=["updates", "values"]
        )
        try:
            async for kind, part in stream:
                if kind == "values":
                    output = part
                for step in happenings.keys() & part.keys() if kind == "updates" else ():
                    happenings[step]()
        except StoreError as told:
            error = told
        asked = Asked(1000 * (time.perf_counter() - begun), output, error)
        assert asked.ms <= TOLERANCE * context.budget_ms, asked
        for reason in [str(error)] if error else asked.lost.values():
            assert is_sentence(reason), reason
        return asked

    return ask


def is_sentence(text: str) -> bool:
    """Whether people can read it: a line that ends, without the insides of a program."""
    return (
        text.endswith(".")
        and text[0].isupper()
        and len(text) < 500
        and not any(part in text for part in ("\n", "Traceback", 'File "', "object at 0x"))
    )
