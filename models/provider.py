"""One chat model behind a breaker, through LangChain: asked in a given shape, within its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from ..stores.breaker import Breaker
from ..stores.patience import within
from ..telemetry.models import Tell, model_call
from .embeddings import ModelUnavailable

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from ..settings import Price

__all__ = ["NoAnswer", "Provider", "Spent", "load"]

T = TypeVar("T", bound=BaseModel)

ATTEMPTS = 2
FAIR_SECONDS = 0.25
"""A provider that was given less, and was late, has not shown that it is down. Half of what a step
gets by default: a caller in a hurry must not open the circuit for everybody else."""
TRANSIENT_STATUS = {408, 409, 425, 429, 500, 502, 503, 504, 529}
REFUSED_STATUS = {400, 413, 422}
"""The provider works, but does not take this question."""


class NoAnswer(Exception):
    """A failure that says nothing about the provider: it hangs on the question, or on the hurry."""


@dataclass
class Spent:
    """What the providers of one question reported; `money` none when a price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    money: float | None = 0.0

    @classmethod
    def on(cls, message: Any, price: Price | None) -> Spent:
        """What an answer cost, usable or not."""
        usage = message.usage_metadata or {"input_tokens": 0, "output_tokens": 0}
        read, written = usage["input_tokens"], usage["output_tokens"]
        if price is None:
            return cls(read, written, None)
        return cls(read, written, (read * price.input + written * price.output) / 1_000_000)

    def add(self, other: Spent) -> None:
        """Count another answer."""
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        if self.money is not None:
            self.money = None if other.money is None else self.money + other.money


class Provider:
    """One model behind a breaker, for which a question counts once, however often it was tried.

    Not counted: a question it does not take or answers in another shape, since one caller could
    then open the circuit for all; and being late when it had less than `FAIR_SECONDS`.
    """

    def __init__(
        self, model: BaseChatModel, name: str, *, breaker: Breaker, price: Price | None
    ) -> None:
        self.name = name
        self.breaker = breaker
        self._model = model
        self._price = price

    async def ask(self, text: str, shape: type[T], *, seconds: float, spent: Spent) -> T:
        """The answer in the given shape; transient failures are tried once more.

        Raises `ModelUnavailable`, `NoAnswer`, and `CircuitOpen` without asking.
        """
        if seconds <= 0:
            raise NoAnswer(f"There was no time left to ask the chat model {self.name}.")
        async with self.breaker.call():
            with model_call(self.name) as tell:
                try:
                    return await within(seconds, self._attempt(text, shape, spent, tell))
                except TimeoutError as error:
                    late = f"The chat model {self.name} did not answer within {seconds:.1f} s."
                    fair = seconds >= FAIR_SECONDS
                    raise (ModelUnavailable if fair else NoAnswer)(late) from error

    async def _attempt(self, text: str, shape: type[T], spent: Spent, tell: Tell) -> T:
        structured = self._model.with_structured_output(shape, include_raw=True)
        retrying = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential_jitter(multiplier=0.05, jitter=0.05, max=0.5),
            retry=retry_if_exception(_transient),
            reraise=True,
        )
        try:
            found: Any = await retrying(structured.ainvoke, text)
        except Exception as error:
            # Providers share no base class, and their clients meet an odd body with a TypeError:
            # whatever comes out of them is no answer, and never ends a retrieval.
            refused = _hangs_on_question(error)
            raise (NoAnswer if refused else ModelUnavailable)(
                self._no_answer(type(error).__name__)
            ) from error
        cost = Spent.on(found["raw"], self._price)
        spent.add(cost)
        tell(cost.input_tokens, cost.output_tokens, cost.money)
        parsed = found["parsed"]
        if isinstance(parsed, BaseModel):
            # Made by the provider's package, perhaps without looking: the shape is checked here.
            parsed = parsed.model_dump(warnings=False)
        try:
            return shape.model_validate(parsed)
        except ValidationError as error:
            raise NoAnswer(self._no_answer(f"not a {shape.__name__}")) from error

    def _no_answer(self, why: str) -> str:
        return f"The chat model {self.name} gave no usable answer ({why})."


def load(name: str) -> BaseChatModel:
    """The model called `provider:model`. Raises `ModelUnavailable` when it is not usable."""
    from langchain.chat_models import init_chat_model

    try:
        # Retries are ours, so that the deadline and the breaker see one call.
        return init_chat_model(name, temperature=0, max_retries=0)
    except Exception as error:  # each provider's client refuses in its own way
        raise ModelUnavailable(
            f"The chat model {name!r} cannot be used ({error}); set CLEW_CHAT_MODEL and "
            "CLEW_CHAT_FALLBACKS to provider:model, install the provider's LangChain package and "
            "set its key."
        ) from error


def _transient(error: BaseException) -> bool:
    """A status that passes, or a connection that failed below the client's own error."""
    status = getattr(error, "status_code", None)
    if status:
        return status in TRANSIENT_STATUS
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _hangs_on_question(error: Exception) -> bool:
    """A status that refuses the question, or an answer that the client could not read."""
    status = getattr(error, "status_code", None)
    if status:
        return status in REFUSED_STATUS
    return isinstance(error, (ValueError, TypeError, LookupError, AttributeError))
