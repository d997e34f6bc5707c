"""Who reads: named ways to walk the graph, kept in a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ..stores.checks import iso_date, label
from ..stores.errors import InvalidInput
from .periods import DateRange, years_before

__all__ = ["NEUTRAL", "Persona", "Personas", "TemporalRange"]

NEUTRAL = "neutral"
"""The persona of a run that names none."""

FULL = "full"
"""The range that is everything."""

# YAML reads 1990-01-01 as a date, and other files may hold it as text.
_Day = Annotated[str, BeforeValidator(lambda day: iso_date(str(day)))]
_Weight = Annotated[float, Field(ge=0, le=1)]


class TemporalRange(BaseModel):
    """Which relations are walked: those of the last years, or from one day to another, inclusive.

    Without any of them: all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    last_years: int | None = Field(None, ge=1, le=500, strict=True)
    date_from: _Day | None = Field(None, alias="from")
    date_to: _Day | None = Field(None, alias="to")

    @model_validator(mode="after")
    def _one_way_round(self) -> Self:
        if self.last_years and (self.date_from or self.date_to):
            raise ValueError("give either last_years or from and to")
        if self.date_from and self.date_to and self.date_from > self.date_to:
            raise ValueError(f"from {self.date_from} lies after to {self.date_to}; swap them")
        return self

    def dates(self, today: date) -> DateRange:
        """From when to when, on this day."""
        if self.last_years:
            first = years_before(today, self.last_years).isoformat()
            return DateRange(date_from=first, date_to=None)
        return DateRange(date_from=self.date_from, date_to=self.date_to)


class Persona(BaseModel):
    """How the graph is walked for one kind of reader; it ranks and narrows, and opens nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    max_hops: int | None = Field(
        None, ge=1, le=3, strict=True, description="Unset: as the question needs."
    )
    relation_weights: dict[str, _Weight] = Field(
        default_factory=dict, description="Factor in [0, 1] a relation type; 0 closes it."
    )
    default_relation_weight: _Weight = Field(
        1.0, description="Factor of every relation type not named."
    )
    max_graph_results: int | None = Field(
        None, ge=1, le=2000, strict=True, description="Passages drawn in through entities."
    )
    cross_namespace: bool = Field(
        True, strict=True, description="False asks only the first namespace of a request."
    )
    temporal_range: TemporalRange = Field(
        default_factory=TemporalRange,
        description="A name among the ranges of the file, or {last_years} or {from, to}.",
    )

    @field_validator("relation_weights")
    @classmethod
    def _types(cls, weights: dict[str, float]) -> dict[str, float]:
        return {label(name): weight for name, weight in weights.items()}

    @field_validator("temporal_range", mode="before")
    @classmethod
    def _by_name(cls, value: object, info: ValidationInfo) -> object:
        ranges: Mapping[str, TemporalRange] = info.context or {}
        if not isinstance(value, str):
            return value
        if value not in ranges:
            raise ValueError(f"there is no range {value!r}; name one of {', '.join(ranges)}")
        return ranges[value]


class _File(BaseModel):
    """`personas` are read after `ranges`, whose names they use."""

    model_config = ConfigDict(extra="forbid")

    ranges: dict[str, TemporalRange] = Field(default_factory=dict)
    personas: dict[str, Any]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if FULL in self.ranges:
            raise ValueError(f"the range {FULL} is everything already; name yours otherwise")
        if NEUTRAL not in self.personas:
            raise ValueError(f"the persona {NEUTRAL} is missing; add `{NEUTRAL}: {{}}`")
        return self


_PERSONAS = TypeAdapter(dict[str, Persona])


class Personas:
    """The personas of a process, by name."""

    def __init__(self, personas: Mapping[str, Persona]) -> None:
        self._personas = dict(personas)

    @classmethod
    def load(cls, path: Path | None) -> Personas:
        """Read a YAML file of ranges and personas; none: the one that comes with Clew.

        Raises `InvalidInput`, which names the persona and the field and says what to change.
        """
        source = path or files("clew") / "personas.yaml"
        try:
            file = _File.model_validate(yaml.safe_load(source.read_text(encoding="utf-8")))
            ranges = {FULL: TemporalRange(), **file.ranges}
            return cls(_PERSONAS.validate_python(file.personas, context=ranges))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InvalidInput(f"The personas {source} cannot be read: {error}") from error
        except ValidationError as error:
            raise InvalidInput(f"The personas {source}: {_told(error)}") from error

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of the file."""
        return tuple(self._personas)

    def named(self, name: str) -> Persona:
        """The persona of this name. Raises `InvalidInput`."""
        if name not in self._personas:
            raise InvalidInput(
                f"There is no persona {name!r}; name one of {', '.join(self._personas)}."
            )
        return self._personas[name]


def _told(error: ValidationError) -> str:
    """The first mistake: where it stands, what it is, what to change."""
    first = error.errors()[0]
    what = first["msg"].removeprefix("Value error, ").rstrip(".")
    if first["type"] == "extra_forbidden":
        what = "there is no such field; remove it, or spell it as docs/personas.md does"
    elif first["type"] == "model_type":
        what = "write a mapping of fields here, `{}` for none"
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {what}." if where else f"{what}."
