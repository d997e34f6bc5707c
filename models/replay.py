"""A run's saved answers in place of the models that gave them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ..prompts.template import Prompt
from ..stores.breaker import Breaker
from ..stores.cache import Scope
from ..stores.errors import InvalidInput
from .chat import Answered
from .embeddings import ModelUnavailable
from .ledger import ModelCall
from .reranker import Reading, Reranker, reading_key

__all__ = ["ReplayedChat", "ReplayedReranker"]

T = TypeVar("T", bound=BaseModel)


class ReplayedChat:
    """A `Chat` that says what it said before: each question's saved calls in order, errors too."""

    def __init__(self, calls: Sequence[ModelCall]) -> None:
        self._left: dict[str, deque[ModelCall]] = defaultdict(deque)
        for call in calls:
            self._left[call["key"]].append(call)

    @property
    def ready(self) -> bool:
        """Whether saved calls are left: what was not asked then is not asked now."""
        return any(self._left.values())

    @property
    def breakers(self) -> tuple[Breaker, ...]:
        """None: nobody is asked."""
        return ()

    async def ask(
        self,
        prompt: Prompt[T],
        values: Mapping[str, str],
        *,
        seconds: float,  # noqa: ARG002  # a saved answer takes no time
        scope: Scope | None,  # noqa: ARG002
    ) -> Answered[T]:
        """The next saved call for this prompt with these values.

        Raises `InvalidInput` when there is none, or its answer does not fit the prompt any more.
        """
        saved = self._left.get(prompt.key(values))
        if not saved:
            raise InvalidInput(
                f"The saved run holds no answer to this {prompt.name} prompt: it was saved with "
                "another question, other settings or another version of the prompt; save it anew."
            )
        call = saved.popleft()
        if call["error"] is not None:
            return Answered(None, call)
        try:
            return Answered(prompt.answer.model_validate(call["answer"]), call)
        except ValidationError as error:
            raise InvalidInput(
                f"The saved answer to the {prompt.name} prompt does not have the shape of a "
                f"{prompt.answer.__name__}; save the run anew."
            ) from error


class ReplayedReranker(Reranker):
    """A `Reranker` that gives one saved reading, or fails as it failed then."""

    def __init__(self, name: str, key: str, reading: Reading, error: str | None) -> None:
        self.name = name
        self.breaker = Breaker("reranker", failures=())
        self._key, self._reading, self._error = key, reading, error

    async def read(
        self,
        question: str,
        texts: Sequence[str],
        *,
        ms: float,  # noqa: ARG002  # a saved reading takes no time
        seconds: float,  # noqa: ARG002
    ) -> Reading:
        """The saved reading. Raises `InvalidInput` when it was of other passages."""
        if self._error is not None:
            raise ModelUnavailable(self._error)
        if reading_key(question, texts) != self._key:
            raise InvalidInput(
                "The saved run's cross-encoder read other passages: what is stored has changed "
                "since, or the settings; save the run anew."
            )
        return self._reading
