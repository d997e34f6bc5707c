"""The line a run, in either format."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from clew.telemetry.logs import LogFormat, configure_logs, log_run

FACTS = {"run": "a1", "plan": "hybrid", "ms": 12.5, "intent": None, "degraded": ["expand_graph"]}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave the logger as it was."""
    logger = logging.getLogger("clew")
    before = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.mark.parametrize("form", ["json", "text"])
def test_what_is_known_of_a_run_is_one_line_on_standard_error(
    form: LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(form)
    configure_logs(form)  # every event loop of a process does
    log_run(FACTS)
    [line] = capsys.readouterr().err.splitlines()
    if form == "json":
        told = json.loads(line)
        assert told.items() >= {k: v for k, v in FACTS.items() if v is not None}.items()
        assert "intent" not in told
    else:
        assert line.endswith(
            'INFO clew.runs run="a1" plan="hybrid" ms=12.5 degraded=["expand_graph"]'
        )


def test_any_other_line_keeps_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("json")
    logging.getLogger("clew").warning("The circuit of the %s is open.", "reranker")
    told = json.loads(capsys.readouterr().err)
    assert told["message"] == "The circuit of the reranker is open."
    assert told["level"] == "warning"


def test_without_a_format_lines_go_to_the_application(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="clew.runs"):
        log_run(FACTS)
    assert [record.name for record in caplog.records] == ["clew.runs"]
