"""What an evaluation leaves behind: every answer, and under which versions it was given."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ..stores.errors import InvalidInput
from .corpora import GraphSource
from .datasets import GoldQuestion
from .measures import MEASURES, percentiles

__all__ = ["Answer", "Report", "Variant", "load_report", "shortfalls", "unknown", "write_whole"]


class Answer(BaseModel):
    """One run: the first 20 documents, the measures in [0, 1], milliseconds a stage.

    `failed`: what the run raised; its measures are 0 and nothing else is known of it.
    """

    id: str
    ranked: list[str]
    cited: list[str] | None
    measures: dict[str, float]
    ms: dict[str, float]
    context_tokens: int | None
    degraded: list[str]
    failed: str | None


class Variant(BaseModel):
    """One configuration's answers, in the order of the report's questions.

    `settings`: the whole `RetrievalContext`; `None` for another system.
    """

    name: str
    settings: dict[str, Any] | None
    answers: list[Answer]

    @property
    def quality(self) -> dict[str, float]:
        """The mean of each measure over all questions, in [0, 1]."""
        return {
            name: sum(values) / len(values)
            for name in MEASURES
            if (values := [a.measures[name] for a in self.answers if name in a.measures])
        }

    @property
    def ms(self) -> dict[str, dict[str, float]]:
        """The 50th, 95th and 99th percentile of each stage, over the runs that had it."""
        stages = dict.fromkeys(stage for answer in self.answers for stage in answer.ms)
        return {
            stage: percentiles([a.ms[stage] for a in self.answers if stage in a.ms])
            for stage in stages
        }

    @property
    def context_tokens(self) -> dict[str, float] | None:
        """The 50th, 95th and 99th percentile of the contexts' tokens, if there are contexts."""
        counts = [a.context_tokens for a in self.answers if a.context_tokens is not None]
        return percentiles(counts) if counts else None

    @property
    def degraded(self) -> int:
        """How many runs went without something."""
        return sum(bool(answer.degraded) for answer in self.answers)

    @property
    def failed(self) -> dict[str, str]:
        """What each failed run raised, by question id."""
        return {answer.id: answer.failed for answer in self.answers if answer.failed is not None}


class Report(BaseModel):
    """One evaluation; the first variant is the base."""

    dataset: str
    namespace: str
    titles: bool
    graph: GraphSource
    date: str
    versions: dict[str, Any]
    stats: dict[str, int]
    ingestion: dict[str, Any]
    warnings: list[str]
    questions: list[GoldQuestion]
    variants: list[Variant]

    @property
    def base(self) -> Variant:
        """What the others are compared with."""
        return self.variants[0]

    def save(self, path: Path) -> None:
        """Write it whole, or not at all. Raises `InvalidInput`."""
        write_whole(path, self.model_dump_json(indent=1) + "\n")


def load_report(path: Path) -> Report:
    """A report that was saved with `--into`. Raises `InvalidInput`."""
    try:
        report = Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror}).") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise InvalidInput(
            f"{path} is not a report of this version's `clew eval --into` "
            f"({field}: {first['msg'].lower()})."
        ) from error
    ids = [asked.id for asked in report.questions]
    if not report.variants or any([a.id for a in v.answers] != ids for v in report.variants):
        raise InvalidInput(f"{path} has not one answer for each question; evaluate again.")
    return report


def write_whole(path: Path, text: str) -> None:
    """Put a file, and its folder, in place of an older one in one step. Raises `InvalidInput`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, "utf-8")
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise InvalidInput(f"{path} cannot be written ({error.strerror}).") from error


def unknown(variants: Sequence[Variant], documents: Collection[str]) -> list[str]:
    """A warning for each variant that returned what is not in the corpus."""
    said = []
    for variant in variants:
        strange = {key for answer in variant.answers for key in answer.ranked} - set(documents)
        if strange:
            said.append(
                f"{variant.name} returned {len(strange)} ids that are not in the corpus, such as "
                f"{min(strange)!r}; they count as wrong."
            )
    return said


def shortfalls(quality: Mapping[str, float], floors: Mapping[str, float]) -> list[str]:
    """Which measures are below their floor, in words; empty when none is."""
    return [
        f"{name} is {quality[name]:.4f} and must be at least {floor:g}"
        for name, floor in floors.items()
        if quality[name] < floor
    ]
