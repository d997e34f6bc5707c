"""One line of log a run, for people or for programs."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

__all__ = ["LogFormat", "configure_logs", "log_run"]

LogFormat = Literal["text", "json"]

_runs = logging.getLogger("clew.runs")


def log_run(facts: Mapping[str, Any]) -> None:
    """Write one line; a fact that is None is left out."""
    if _runs.isEnabledFor(logging.INFO):
        told = {name: fact for name, fact in facts.items() if fact is not None}
        words = " ".join(f"{name}={json.dumps(fact, default=str)}" for name, fact in told.items())
        _runs.info("%s", words, extra={"facts": told})


def configure_logs(form: LogFormat) -> None:
    """Write what Clew logs to standard error, and no longer to the application's handlers."""
    logger = logging.getLogger("clew")
    for handler in [one for one in logger.handlers if isinstance(one, _Handler)]:
        logger.removeHandler(handler)
    logger.addHandler(_Handler(form))
    logger.setLevel(logging.INFO)
    logger.propagate = False


class _Handler(logging.StreamHandler[Any]):
    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self.setFormatter(_Json() if form == "json" else _Text())


class _Text(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        facts = getattr(record, "facts", None)
        line |= facts if facts is not None else {"message": record.getMessage()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
