"""How often embeddings had to help, and when somebody is told."""

from __future__ import annotations

import logging

import pytest

from clew.stores.fallback import FEWEST, WINDOW, FallbackRate


def rate() -> FallbackRate:
    return FallbackRate("Finding names", "add aliases.")


def test_nothing_attempted_is_nothing_fallen_back() -> None:
    assert rate().rate == 0


def test_the_rate_is_that_of_the_latest_attempts() -> None:
    counted = rate()
    counted.note(WINDOW, WINDOW)
    counted.note(WINDOW // 2, 0)
    assert counted.rate == 0.5


def test_above_seventy_percent_the_remedy_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    counted = rate()
    with caplog.at_level(logging.WARNING, logger="clew"):
        counted.note(FEWEST, FEWEST * 7 // 10)
        assert not caplog.records, "seventy is not above seventy"
        counted.note(10, 10)
        counted.note(10, 10)
    (said,) = caplog.messages
    assert said.startswith("Finding names fell back to embeddings in ")
    assert said.endswith("; add aliases.")


def test_a_rate_that_has_come_down_is_told_of_again(caplog: pytest.LogCaptureFixture) -> None:
    counted = rate()
    with caplog.at_level(logging.WARNING, logger="clew"):
        counted.note(FEWEST, FEWEST)
        counted.note(FEWEST, 0)
        counted.note(WINDOW, WINDOW)
    assert len(caplog.messages) == 2


def test_a_few_attempts_say_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="clew"):
        rate().note(FEWEST - 1, FEWEST - 1)
    assert not caplog.records
