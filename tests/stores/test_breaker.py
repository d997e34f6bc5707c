"""The circuit breaker, with a clock that moves when told."""

from __future__ import annotations

import asyncio

import pytest

from clew.stores.breaker import Breaker, CircuitOpen
from clew.stores.errors import InvalidInput, StoreTimeout, StoreUnavailable

SECONDS = 30.0


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("graph", failures=(StoreUnavailable,), threshold=3, seconds=SECONDS, clock=clock)


def state(breaker: Breaker) -> str:
    return breaker.state


async def fail(breaker: Breaker, error: BaseException | None = None) -> None:
    raised = error or StoreUnavailable("nobody answers")
    with pytest.raises(type(raised)):
        async with breaker.call():
            raise raised


async def succeed(breaker: Breaker) -> None:
    async with breaker.call():
        pass


async def refused(breaker: Breaker) -> None:
    with pytest.raises(CircuitOpen, match="graph"):
        async with breaker.call():
            pytest.fail("nobody may come through an open circuit")


async def opened(breaker: Breaker) -> None:
    for _ in range(3):
        await fail(breaker)
    assert state(breaker) == "open"


async def test_it_opens_at_the_third_failure_in_a_row(breaker: Breaker) -> None:
    await fail(breaker)
    await fail(breaker)
    assert state(breaker) == "closed"
    await fail(breaker)
    assert state(breaker) == "open"
    await refused(breaker)


async def test_a_success_forgets_the_failures_before_it(breaker: Breaker) -> None:
    for _ in range(5):
        await fail(breaker)
        await fail(breaker)
        await succeed(breaker)
    assert state(breaker) == "closed"


async def test_it_stays_open_for_its_time_and_not_longer(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    clock.now += SECONDS - 0.001
    assert state(breaker) == "open"
    await refused(breaker)
    clock.now += 0.001
    assert state(breaker) == "half_open"
    await succeed(breaker)
    assert state(breaker) == "closed"


async def test_being_refused_does_not_keep_it_open(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    for _ in range(10):
        clock.now += SECONDS / 10
        if state(breaker) == "open":
            await refused(breaker)
    assert state(breaker) == "half_open"


async def test_looking_at_the_state_uses_no_permit(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    clock.now += SECONDS
    assert [state(breaker) for _ in range(3)] == ["half_open"] * 3
    await succeed(breaker)


async def test_a_trial_that_fails_opens_it_for_the_whole_time_again(
    breaker: Breaker, clock: Clock
) -> None:
    await opened(breaker)
    clock.now += SECONDS
    await fail(breaker)
    clock.now += SECONDS - 1
    assert state(breaker) == "open"
    await refused(breaker)
    clock.now += 1
    await succeed(breaker)
    assert state(breaker) == "closed"


async def test_a_trial_that_succeeds_starts_the_count_anew(breaker: Breaker, clock: Clock) -> None:
    await opened(breaker)
    clock.now += SECONDS
    await succeed(breaker)
    await fail(breaker)
    await fail(breaker)
    assert state(breaker) == "closed"


@pytest.mark.parametrize("works", [True, False])
async def test_of_many_callers_exactly_one_makes_the_trial(
    breaker: Breaker, clock: Clock, works: bool
) -> None:
    await opened(breaker)
    clock.now += SECONDS
    tried, answered = list[int](), asyncio.Event()

    def answer() -> None:
        if not works:
            raise StoreUnavailable("still nobody")

    async def caller(number: int) -> str:
        try:
            async with breaker.call():
                tried.append(number)
                await answered.wait()
                answer()
        except CircuitOpen:
            return "refused"
        except StoreUnavailable:
            return "failed"
        return "passed"

    callers = [asyncio.create_task(caller(number)) for number in range(50)]
    await asyncio.sleep(0)
    assert tried == [0]
    assert state(breaker) == "half_open"
    clock.now += 10 * SECONDS  # a trial that takes long lets no second one in
    await refused(breaker)
    answered.set()
    outcomes = await asyncio.gather(*callers)
    assert outcomes == ["passed" if works else "failed", *["refused"] * 49]
    assert state(breaker) == ("closed" if works else "open")


async def test_a_cancelled_trial_gives_its_permit_back_and_counts_nothing(
    breaker: Breaker, clock: Clock
) -> None:
    await opened(breaker)
    clock.now += SECONDS

    async def hang() -> None:
        async with breaker.call():
            await asyncio.Event().wait()

    trial = asyncio.create_task(hang())
    await asyncio.sleep(0)
    await refused(breaker)
    trial.cancel()
    await asyncio.gather(trial, return_exceptions=True)
    assert trial.cancelled()
    assert state(breaker) == "half_open"
    await succeed(breaker)
    assert state(breaker) == "closed"


async def test_cancelled_calls_neither_count_nor_reset(breaker: Breaker) -> None:
    await fail(breaker)
    await fail(breaker)
    for _ in range(5):
        await fail(breaker, asyncio.CancelledError())
    assert state(breaker) == "closed"
    await fail(breaker)
    assert state(breaker) == "open"


async def test_the_callers_mistakes_neither_count_nor_reset(breaker: Breaker) -> None:
    await fail(breaker)
    await fail(breaker)
    for _ in range(5):
        await fail(breaker, InvalidInput("a mistake"))
        await fail(breaker, KeyError("a bug"))
    assert state(breaker) == "closed"
    await fail(breaker)
    assert state(breaker) == "open"


async def test_a_trial_that_ends_in_the_callers_mistake_leaves_the_trial_to_the_next(
    breaker: Breaker, clock: Clock
) -> None:
    await opened(breaker)
    clock.now += SECONDS
    await fail(breaker, InvalidInput("a mistake"))
    assert state(breaker) == "half_open"
    await succeed(breaker)
    assert state(breaker) == "closed"


async def test_kinds_of_a_counted_failure_count(breaker: Breaker) -> None:
    for _ in range(3):
        await fail(breaker, StoreTimeout("nobody in time"))
    assert state(breaker) == "open"


async def test_one_circuit_inside_another_counts_as_unavailable(
    breaker: Breaker, clock: Clock
) -> None:
    await opened(breaker)
    outer = Breaker("whole", failures=(StoreUnavailable,), threshold=1, clock=clock)
    with pytest.raises(CircuitOpen, match="graph"):
        async with outer.call(), breaker.call():
            pass
    assert state(outer) == "open"


async def test_calls_that_end_after_the_circuit_opened_tell_of_the_past(
    breaker: Breaker, clock: Clock
) -> None:
    outcomes: list[asyncio.Future[None]] = [asyncio.Future() for _ in range(2)]

    async def slow(outcome: asyncio.Future[None]) -> None:
        async with breaker.call():
            await outcome

    tasks = [asyncio.create_task(slow(outcome)) for outcome in outcomes]
    await asyncio.sleep(0)
    await opened(breaker)
    clock.now += SECONDS - 1
    outcomes[0].set_exception(StoreUnavailable("late"))
    outcomes[1].set_result(None)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert state(breaker) == "open", "a late success does not close it"
    clock.now += 1
    assert state(breaker) == "half_open", "a late failure does not keep it open for longer"


async def test_every_new_state_is_told_once_and_counted(clock: Clock) -> None:
    told: list[tuple[str, str]] = []
    breaker = Breaker(
        "graph",
        failures=(StoreUnavailable,),
        seconds=SECONDS,
        clock=clock,
        on_change=lambda name, state: told.append((name, state)),
    )
    await opened(breaker)
    clock.now += SECONDS
    await fail(breaker)
    clock.now += SECONDS
    await succeed(breaker)
    await succeed(breaker)
    states = ["open", "half_open", "open", "half_open", "closed"]
    assert told == [("graph", state) for state in states]
    assert breaker.changes == {"open": 2, "half_open": 2, "closed": 1}


@pytest.mark.parametrize(("threshold", "seconds"), [(0, 1.0), (1, 0.0), (-1, -1.0)])
def test_a_breaker_that_could_never_work_is_refused(threshold: int, seconds: float) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Breaker("graph", failures=(OSError,), threshold=threshold, seconds=seconds)
