"""Two variants question by question: what differs, and whether more than chance."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ..stores.errors import InvalidInput
from .bootstrap import Difference, difference
from .measures import MEASURES
from .report import Answer, Report, Variant
from .versions import changes

__all__ = ["COSTS", "Change", "Comparison", "Moved", "compare", "differences", "provenance"]

TOLD = 5
"""Questions told of those that gained, and of those that lost."""
DECISIVE = "nDCG@10"
"""The measure by which a question gains or loses."""
STAGES, TOKENS = ("retrieval", "whole run"), "context tokens"
COSTS = (*(f"{stage} ms" for stage in STAGES), TOKENS)
"""What answers cost, compared by their means."""


class Change(BaseModel):
    """The means of one measure over the questions that both have it for, and their difference."""

    measure: str
    before: float
    after: float
    difference: Difference


class Moved(BaseModel):
    """One question's nDCG@10 in both."""

    id: str
    question: str
    before: float
    after: float


class Comparison(BaseModel):
    """Two reports of one dataset. `versions` and `settings`: (name, before, after)."""

    changes: list[Change]
    versions: list[tuple[str, str, str]]
    settings: list[tuple[str, str, str]]
    gained: list[Moved]
    lost: list[Moved]


def differences(base: Variant, other: Variant) -> list[Change]:
    """Every measure that both have, and mean milliseconds and tokens. Pairs answers by place."""
    found = []
    both = [(_values(a), _values(b)) for a, b in zip(base.answers, other.answers, strict=True)]
    for measure in (*MEASURES, *COSTS):
        pairs = [(a[measure], b[measure]) for a, b in both if measure in a and measure in b]
        if pairs:
            old, new = zip(*pairs, strict=True)
            found.append(
                Change(
                    measure=measure,
                    before=sum(old) / len(pairs),
                    after=sum(new) / len(pairs),
                    difference=difference(old, new),
                )
            )
    return found


def compare(before: Report, after: Report, names: tuple[str, str]) -> Comparison:
    """The bases of two reports, which `names` call by name. Raises `InvalidInput`."""
    _require_same(before, after, names)
    order = {answer.id: answer for answer in after.base.answers}
    aligned = after.base.model_copy(
        update={"answers": [order[asked.id] for asked in before.questions]}
    )
    moved = [
        Moved(
            id=asked.id,
            question=asked.question,
            before=a.measures[DECISIVE],
            after=b.measures[DECISIVE],
        )
        for asked, a, b in zip(before.questions, before.base.answers, aligned.answers, strict=True)
    ]
    moved.sort(key=lambda one: one.before - one.after)
    return Comparison(
        changes=differences(before.base, aligned),
        versions=changes(provenance(before), provenance(after)),
        settings=changes(before.base.settings or {}, after.base.settings or {}),
        gained=[one for one in moved[:TOLD] if one.after > one.before],
        lost=[one for one in moved[: -TOLD - 1 : -1] if one.after < one.before],
    )


def _values(answer: Answer) -> dict[str, float]:
    """What is known of a run, by measure; nothing but its measures of one that failed."""
    values = dict(answer.measures)
    values |= {f"{stage} ms": answer.ms[stage] for stage in STAGES if stage in answer.ms}
    if answer.context_tokens is not None:
        values[TOKENS] = answer.context_tokens
    return values


def provenance(report: Report) -> dict[str, Any]:
    """Everything but the run's own settings that could explain a difference."""
    form = {"titles": report.titles, "graph": report.graph}
    return {**form, **report.versions, **report.stats}


def _require_same(before: Report, after: Report, names: tuple[str, str]) -> None:
    first, second = names
    if before.dataset != after.dataset:
        raise InvalidInput(
            f"{first} is of the dataset {before.dataset!r} and {second} of {after.dataset!r}; "
            "compare reports of one dataset."
        )
    old = {asked.id: asked for asked in before.questions}
    new = {asked.id: asked for asked in after.questions}
    for one, other, has, lacks in ((old, new, first, second), (new, old, second, first)):
        if missing := [key for key in one if key not in other]:
            raise InvalidInput(
                f"{lacks} lacks {len(missing)} questions of {has}, such as {missing[0]!r}; "
                "compare reports of the same questions."
            )
    for key in old:
        if old[key] != new[key]:
            raise InvalidInput(
                f"Question {key!r} has another text or other gold passages in {second} than in "
                f"{first}; evaluate both on the same dataset."
            )
