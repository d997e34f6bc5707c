"""Reports as tables and sentences, for a terminal or for Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from .bootstrap import METHOD, Difference
from .comparison import COSTS, Change, Comparison, Moved, differences, provenance
from .measures import MEASURES
from .report import Report, Variant
from .versions import changes

__all__ = ["Page", "Table", "comparison_page", "markdown", "report_page", "summary"]

TOLD = 10
"""Failures told one by one; the rest stand in the saved report."""


class Table(NamedTuple):
    """All but the first column are numbers."""

    title: str
    columns: list[str]
    rows: list[list[str]]


Page: TypeAlias = list[Table | str]


def report_page(report: Report) -> Page:
    """Measures, milliseconds, tokens, what failed and the versions of one evaluation."""
    base, *others = report.variants
    compared = [(other, differences(base, other)) for other in others]
    page: Page = [_measures(report, compared)]
    if others:
        page.append(f"Differences from {base.name} in brackets: {METHOD}.")
    page += [_milliseconds(report.variants), _runs(report.variants)]
    for other in others:
        if other.settings is not None:
            changed = changes(base.settings or {}, other.settings)
            page.append(_changed(f"what {other.name} sets", changed, (base.name, other.name)))
    page += report.warnings
    page += _failures(report.variants)
    page.append(_versions(report))
    return page


def comparison_page(found: Comparison, names: tuple[str, str]) -> Page:
    """What differs between two reports, and which questions moved most."""
    rows = [
        [
            one.measure,
            _number(one.measure, one.before),
            _number(one.measure, one.after),
            _difference(one),
        ]
        for one in found.changes
    ]
    page: Page = [
        Table("differences", ["", *names, "difference"], rows),
        f"In brackets: {METHOD}.",
    ]
    for title, moved in (("gained most", found.gained), ("lost most", found.lost)):
        if moved:
            page.append(_moved(title, moved, names))
    for title, changed in (("other versions", found.versions), ("other settings", found.settings)):
        if changed:
            page.append(_changed(title, changed, names))
    return page


def summary(report: Report) -> dict[str, Any]:
    """The same for programs: the base at the top, then every variant with its differences."""
    base, *others = report.variants
    return {
        "dataset": report.dataset,
        "namespace": report.namespace,
        "ingestion": report.ingestion,
        "questions": len(report.questions),
        **_figures(base),
        "variants": {
            other.name: {
                **_figures(other),
                "differences": [one.model_dump() for one in differences(base, other)],
            }
            for other in others
        },
        "warnings": report.warnings,
        "versions": provenance(report),
    }


def markdown(page: Page) -> str:
    """The page as Markdown."""
    return "\n\n".join(part if isinstance(part, str) else _markdown(part) for part in page)


def _figures(variant: Variant) -> dict[str, Any]:
    return {
        "quality": variant.quality,
        "ms": variant.ms,
        "context_tokens": variant.context_tokens,
        "degraded": variant.degraded,
        "failed": variant.failed,
    }


def _measures(report: Report, compared: Sequence[tuple[Variant, list[Change]]]) -> Table:
    changed = [{one.measure: one for one in found} for _, found in compared]
    rows = [
        [
            measure,
            _number(measure, value),
            *(_after(found.get(measure)) for found in changed),
        ]
        for measure, value in report.base.quality.items()
    ]
    for measure in COSTS:
        if any(measure in found for found in changed):
            first = next(found[measure] for found in changed if measure in found)
            rows.append(
                [
                    f"mean {measure}",
                    _number(measure, first.before),
                    *(_after(found.get(measure)) for found in changed),
                ]
            )
    return Table(
        f"{report.dataset}: {len(report.questions)} questions in {report.namespace}",
        ["", report.base.name, *(other.name for other, _ in compared)],
        rows,
    )


def _milliseconds(variants: Sequence[Variant]) -> Table:
    taken = [variant.ms for variant in variants]
    stages = dict.fromkeys(stage for one in taken for stage in one)
    return Table(
        "milliseconds: p50 / p95 / p99",
        ["step", *(variant.name for variant in variants)],
        [[stage, *(_three(one.get(stage), ".1f") for one in taken)] for stage in stages],
    )


def _runs(variants: Sequence[Variant]) -> Table:
    return Table(
        "runs",
        ["", "degraded", "failed", "context tokens: p50 / p95 / p99"],
        [
            [v.name, str(v.degraded), str(len(v.failed)), _three(v.context_tokens, ",.0f")]
            for v in variants
        ],
    )


def _failures(variants: Sequence[Variant]) -> Iterator[str]:
    for variant in variants:
        failed = list(variant.failed.items())
        for key, reason in failed[:TOLD]:
            yield f"{variant.name} failed on question {key!r}: {reason}"
        if len(failed) > TOLD:
            yield f"{variant.name} failed on {len(failed) - TOLD} more questions."


def _versions(report: Report) -> Table:
    rows = [[name, value] for name, _, value in changes({}, provenance(report)) if value != "None"]
    return Table(f"versions, {report.date}", ["", "value"], rows)


def _changed(title: str, changed: Sequence[tuple[str, str, str]], names: tuple[str, str]) -> Table:
    return Table(title, ["", *names], [list(one) for one in changed])


def _moved(title: str, moved: Sequence[Moved], names: tuple[str, str]) -> Table:
    return Table(
        f"{title}, by nDCG@10",
        ["question", *names],
        [
            [f"{one.question} ({one.id})", f"{100 * one.before:.1f}", f"{100 * one.after:.1f}"]
            for one in moved
        ],
    )


def _after(change: Change | None) -> str:
    if change is None:
        return "–"
    return f"{_number(change.measure, change.after)}  {_difference(change)}"


def _difference(change: Change) -> str:
    found: Difference = change.difference
    measure = change.measure
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f" [{_signed(measure, found.low)}, {_signed(measure, found.high)}]"
    return f"{_signed(measure, found.mean)}{interval}{' *' if found.counts else ''}"


def _number(measure: str, value: float) -> str:
    return f"{100 * value:.1f}" if measure in MEASURES else f"{value:,.1f}"


def _signed(measure: str, value: float) -> str:
    return f"{(100 * value if measure in MEASURES else value):+.1f}"


def _three(values: Mapping[str, float] | None, form: str) -> str:
    return "–" if values is None else " / ".join(format(value, form) for value in values.values())


def _markdown(table: Table) -> str:
    lines = [
        table.columns,
        ["---", *["---:"] * (len(table.columns) - 1)],
        *table.rows,
    ]
    rows = ["| " + " | ".join(_cell(text) for text in line) + " |" for line in lines]
    return "\n".join([f"**{table.title}**", "", *rows])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
