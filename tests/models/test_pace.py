"""How much a slow model has time for, by how long it took lately, on a clock that tests turn."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from clew.models.pace import SECONDS, Pace

from .cross_encoder import Clock


def took(pace: Pace, clock: Clock, count: int, ms: float) -> None:
    with pace.reading(count):
        clock.now += ms / 1000


def allowed(pace: Pace, count: int, ms: float = 200) -> int:
    return pace.fitting(count, ms)[0]


def test_what_nobody_has_measured_may_be_read() -> None:
    assert Pace(clock=Clock()).fitting(20, 0.001) == (20, None)


def test_all_then_half_then_none_and_after_a_while_all_again() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    took(pace, clock, 20, 199)
    assert allowed(pace, 20) == 20
    took(pace, clock, 20, 201)
    count, slow = pace.fitting(20, 200)
    assert slow is not None
    assert (count, slow.texts, round(slow.ms)) == (10, 20, 201)
    took(pace, clock, 10, 150)
    assert allowed(pace, 20) == 10
    took(pace, clock, 10, 250)
    count, slow = pace.fitting(20, 200)
    assert slow is not None
    assert (count, slow.texts, round(slow.ms)) == (0, 10, 250)
    clock.now += SECONDS - 0.001
    assert allowed(pace, 20) == 0
    clock.now += 0.002
    assert allowed(pace, 20) == 20


def test_each_caller_is_held_to_its_own_limit() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    took(pace, clock, 20, 250)
    assert [allowed(pace, 20, ms) for ms in (10, 249, 251, 60_000)] == [10, 10, 20, 20]


def test_fewer_texts_may_be_read_while_more_are_too_slow_but_not_the_other_way_round() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    took(pace, clock, 8, 300)
    assert [allowed(pace, count) for count in (7, 8, 15, 16, 40)] == [7, 4, 7, 0, 0]


def test_the_latest_time_of_as_many_counts() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    took(pace, clock, 20, 900)
    took(pace, clock, 20, 100)
    assert allowed(pace, 20) == 20


def test_a_reading_that_goes_on_is_seen_from_outside() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    assert pace.underway_ms == 0
    with pace.reading(20):
        clock.now += 0.5
        assert round(pace.underway_ms) == 500
    assert pace.underway_ms == 0


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 500)), max_size=30))
def test_whatever_was_measured_the_answer_is_all_half_or_none_and_has_a_reason(
    readings: list[tuple[int, int]],
) -> None:
    clock = Clock()
    pace = Pace(clock=clock, seconds=10_000)
    for count, ms in readings:
        took(pace, clock, count, ms)
    for count in (1, 2, 20, 100):
        fits, slow = pace.fitting(count, 200)
        assert fits in (count, count // 2, 0)
        assert (slow is None) == (fits == count)
        assert slow is None or (slow.ms > 200 and slow.texts <= count)


def test_threads_may_measure_and_ask_at_once() -> None:
    clock = Clock()
    pace = Pace(clock=clock)

    def work(number: int) -> int:
        for count in range(1, 200):
            with pace.reading(count):
                pace.fitting(count, number)
        return allowed(pace, 20)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(work, range(8))) == {20}
