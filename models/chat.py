"""Questions to a language model that answer in a given shape, through LangChain."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from ..stores.breaker import Breaker
from .embeddings import ModelUnavailable

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["ChatModel"]

Answer = TypeVar("Answer", bound=BaseModel)

ATTEMPTS = 2
TRANSIENT_STATUS = {408, 409, 425, 429, 500, 502, 503, 504, 529}


class ChatModel:
    """A chat model behind a concurrency limit; answers are Pydantic models or errors."""

    def __init__(
        self, model: BaseChatModel, name: str, *, concurrency: int, breaker: Breaker
    ) -> None:
        self.name = name
        self.breaker = breaker
        self._model = model
        self._slots = asyncio.Semaphore(concurrency)

    @classmethod
    async def open(cls, name: str, *, concurrency: int, breaker: Breaker) -> ChatModel:
        """`name` is `provider:model`. Raises `ModelUnavailable` when the provider is not usable."""
        model = await asyncio.to_thread(cls._load, name)
        return cls(model, name, concurrency=concurrency, breaker=breaker)

    @classmethod
    async def check(cls, name: str) -> None:
        """Make sure the provider's package and key are there. Raises `ModelUnavailable`."""
        await asyncio.to_thread(cls._load, name)

    @staticmethod
    def _load(name: str) -> BaseChatModel:
        from langchain.chat_models import init_chat_model

        try:
            # Retries are ours, so that the deadline and the breaker see one call.
            return init_chat_model(name, temperature=0, max_retries=0)
        except Exception as error:  # each provider's client refuses in its own way
            raise ModelUnavailable(
                f"The chat model {name!r} cannot be used ({error}); set CLEW_CHAT_MODEL to "
                "provider:model, install the provider's LangChain package and set its key."
            ) from error

    async def ask(self, prompt: str, shape: type[Answer], *, seconds: float) -> Answer:
        """The model's answer in the given shape, within `seconds`, waiting for a slot included.

        Transient failures are tried once more. Raises `ModelUnavailable`, and `CircuitOpen` without
        asking; for the breaker the call counts once, however often it was tried.
        """
        if seconds <= 0:
            raise ModelUnavailable(f"There was no time left to ask the chat model {self.name}.")
        async with self.breaker.call():
            try:
                async with asyncio.timeout(seconds), self._slots:
                    answer = await self._attempt(prompt, shape)
            except TimeoutError as error:
                raise ModelUnavailable(
                    f"The chat model {self.name} did not answer within {seconds:.1f} s."
                ) from error
        return answer

    async def _attempt(self, prompt: str, shape: type[Answer]) -> Answer:
        structured = self._model.with_structured_output(shape)
        retrying = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential_jitter(multiplier=0.05, jitter=0.05, max=0.5),
            retry=retry_if_exception(_transient),
            reraise=True,
        )
        try:
            answer: object = await retrying(structured.ainvoke, prompt)
        except Exception as error:
            # Providers share no base class, and their clients meet an odd body with a TypeError:
            # whatever comes out of them is no answer, and never ends a retrieval.
            raise self._no_answer(type(error).__name__) from error
        if not isinstance(answer, shape):
            raise self._no_answer(f"not a {shape.__name__}")
        return answer

    def _no_answer(self, why: str) -> ModelUnavailable:
        return ModelUnavailable(f"The chat model {self.name} gave no usable answer ({why}).")


def _transient(error: BaseException) -> bool:
    """A status that passes, or a connection that failed below the client's own error."""
    status = getattr(error, "status_code", None)
    if status:
        return status in TRANSIENT_STATUS
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None
