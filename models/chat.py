"""Questions to a language model that answer in a given shape, through LangChain.

Providers stand in a row. A question takes a slot, and then the providers whose circuit is not open
are asked one after the other, within one deadline, until one answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from ..prompts.template import Prompt
from ..stores.breaker import Breaker, CircuitOpen
from ..stores.cache import Cache, Scope
from .embeddings import ModelUnavailable
from .ledger import ModelCall
from .provider import NoAnswer, Provider, Spent, load

if TYPE_CHECKING:
    from ..settings import Price

__all__ = ["Answered", "Chat", "ChatModel"]

T = TypeVar("T", bound=BaseModel)

SHARE = 0.6
"""Of the time left, what a provider may use while another one could still be asked."""


class Answered(NamedTuple, Generic[T]):
    """What came of a question: no value exactly when the call has an error, for people to read."""

    value: T | None
    call: ModelCall


class Chat(Protocol):
    """A language model, or the record of one."""

    @property
    def ready(self) -> bool:
        """Whether asking may bring an answer; false while every circuit is open."""
        ...

    @property
    def breakers(self) -> tuple[Breaker, ...]:
        """Of whoever is asked, in their order."""
        ...

    async def ask(
        self, prompt: Prompt[T], values: Mapping[str, str], *, seconds: float, scope: Scope | None
    ) -> Answered[T]:
        """Ask once, for `seconds` at most. Without a scope nothing kept is used, and nothing kept.

        Raises only what is a bug; whatever fails out there becomes the call's error.
        """
        ...


class ChatModel:
    """Providers behind a limit of questions at once; answers are kept for equal questions."""

    def __init__(
        self, providers: Sequence[Provider], *, concurrency: int, answers: Cache[ModelCall]
    ) -> None:
        self.providers = tuple(providers)
        self._slots = asyncio.Semaphore(concurrency)
        self._answers = answers

    @classmethod
    async def open(
        cls,
        names: Sequence[str],
        *,
        concurrency: int,
        prices: Mapping[str, Price],
        breaker: Callable[[str], Breaker],
        answers: Cache[ModelCall],
    ) -> ChatModel:
        """Each name is `provider:model`; they are asked in their order.

        Raises `ModelUnavailable` when one of them is not usable.
        """
        providers = [
            Provider(
                await asyncio.to_thread(load, name),
                name,
                breaker=breaker(f"chat model {name}"),
                price=prices.get(name),
            )
            for name in names
        ]
        return cls(providers, concurrency=concurrency, answers=answers)

    @classmethod
    async def check(cls, name: str) -> None:
        """Make sure the provider's package and key are there. Raises `ModelUnavailable`."""
        await asyncio.to_thread(load, name)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the providers, in the order in which they are asked."""
        return tuple(provider.name for provider in self.providers)

    @property
    def name(self) -> str:
        """Of the first provider."""
        return self.providers[0].name

    @property
    def breakers(self) -> tuple[Breaker, ...]:
        """Of the providers, in their order."""
        return tuple(provider.breaker for provider in self.providers)

    @property
    def ready(self) -> bool:
        """Whether any circuit is not open."""
        return any(breaker.state != "open" for breaker in self.breakers)

    async def ask(
        self, prompt: Prompt[T], values: Mapping[str, str], *, seconds: float, scope: Scope | None
    ) -> Answered[T]:
        """As of `Chat`. The call names the provider that answered, or the first when none did.

        Waiting for a slot takes from `seconds`, and is no provider's failure.
        """
        begun = time.perf_counter()
        key = prompt.key(values)
        place = (key, self.names, scope)
        kept = self._answers.get(place) if scope is not None else None
        if kept is not None:
            return _again(prompt, kept, begun)
        spent = Spent()
        value, model, error = None, self.name, None
        try:
            value, model = await self._first(prompt.fill(values), prompt.answer, seconds, spent)
        except ModelUnavailable as failure:
            error = str(failure)
        call = ModelCall(
            prompt=prompt.name,
            version=prompt.version,
            key=key,
            model=model,
            cached=False,
            ms=_ms(begun),
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            money=spent.money,
            answer=value.model_dump(mode="json") if value is not None else None,
            error=error,
        )
        if value is not None and scope is not None:
            self._answers.put(place, call)
        return Answered(value, call)

    async def _first(
        self, text: str, shape: type[T], seconds: float, spent: Spent
    ) -> tuple[T, str]:
        """The first answer, and whose it is. Raises `ModelUnavailable` with all that went wrong."""
        deadline = asyncio.get_running_loop().time() + seconds
        said = []
        # With every circuit open nobody is asked, so there is no slot to wait for.
        async with self._slot(deadline, seconds) if self.ready else nullcontext():
            for place, provider in enumerate(self.providers):
                left = deadline - asyncio.get_running_loop().time()
                others = any(b.state != "open" for b in self.breakers[place + 1 :])
                share = left * SHARE if others else left
                try:
                    answer = await provider.ask(text, shape, seconds=share, spent=spent)
                except (ModelUnavailable, NoAnswer, CircuitOpen) as error:
                    said.append(str(error))
                else:
                    return answer, provider.name
        raise ModelUnavailable(" ".join(said))

    @asynccontextmanager
    async def _slot(self, deadline: float, seconds: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout_at(deadline):
                await self._slots.acquire()
        except TimeoutError as error:
            raise ModelUnavailable(
                f"The chat model {self.name} was busy for {seconds:.1f} s; raise "
                "CLEW_CHAT_CONCURRENCY if it can take more."
            ) from error
        try:
            yield
        finally:
            self._slots.release()


def _again(prompt: Prompt[T], kept: ModelCall, begun: float) -> Answered[T]:
    """An answer that was given before, and costs nothing now."""
    call: ModelCall = {
        **kept,
        "cached": True,
        "ms": _ms(begun),
        "input_tokens": 0,
        "output_tokens": 0,
        "money": 0.0,
    }
    return Answered(prompt.answer.model_validate(kept["answer"]), call)


def _ms(begun: float) -> float:
    return round((time.perf_counter() - begun) * 1000, 2)
