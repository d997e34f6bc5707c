"""Whether synonyms are worth asking a model for."""

from __future__ import annotations

from typing import Literal

from ...context import RetrievalContext
from ...models.chat import Chat

__all__ = ["synonyms_wanted"]


def synonyms_wanted(
    when: Literal["no_seeds", "sparse"],
    *,
    chat: Chat | None,
    context: RetrievalContext,
    tried: bool,
    left_ms: float,
) -> bool:
    """Whether to ask now, when the graph knows nothing of the question, or little.

    `sparse` allows both. There must be a model that may answer, and time: what a step with a model
    may take, or half of the run's, whichever is less.
    """
    return (
        chat is not None
        and not tried
        and context.synonyms in (when, "sparse")
        and left_ms >= min(context.llm_ms, context.budget_ms / 2)
        and chat.ready
    )
