"""Names in running text, found offline: curated lists, patterns, capital letters."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ..stores.errors import InvalidInput
from .acronyms import ACRONYM, abbreviates, long_forms
from .names import fold
from .spans import name_spans
from .words import STOP_WORDS

__all__ = [
    "NAME",
    "PATTERN",
    "CuratedEntity",
    "Found",
    "Recognizer",
    "folded_words",
    "keeps_capitals",
]

NAME = "Name"
"""The type of everything that is known to be a name and no more."""

PATTERN = "pattern"
"""The method that finds what is recognised by its form: a date, an address, a version."""

_DATE = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_HEX = r"[0-9A-Fa-f]"
_PATTERNS = (
    ("Url", r"https?://[^\s<>\"'()\[\]]*[^\s<>\"'()\[\].,;:!?]"),
    ("Email", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ("Address", rf"(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}"),
    (
        "Address",
        rf"(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}"
        rf"|(?:{_HEX}{{1,4}}:){{1,6}}(?::{_HEX}{{1,4}}){{1,6}}|(?:{_HEX}{{1,4}}:){{2,7}}:",
    ),
    ("Address", rf"(?:{_OCTET}\.){{3}}{_OCTET}(?:/\d\d?)?(?!\.\d)"),
    (
        "Date",
        rf"\d{{4}}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
        rf"|\d{{1,2}} {_DATE}\.? \d{{3,4}}|{_DATE}\.? \d{{1,2}}, ?\d{{3,4}}",
    ),
    (
        "ErrorCode",
        r"[A-Z]{2,6}-\d{4,6}(?:-\d{4,7})?|[EWF]\d{3,5}|0x[0-9A-Fa-f]{4,16}"
        r"|E(?:ACCES|CONN[A-Z]+|NOENT|PERM|TIMEDOUT|ADDRINUSE|PIPE)",
    ),
    ("Version", r"[vV]\d+(?:\.\d+)+(?:-[\w.]+)?|\d+\.\d+\.\d+(?:-[\w.]+)?"),
    ("Model", r"[A-Z]{1,5}-?\d{2,5}[A-Z]{0,3}|[A-Z]{2,5}-\d[\w-]*\w"),
)
_PATTERN = re.compile(
    r"(?<![\w.@/-])(?:"
    + "|".join(f"(?P<p{i}>{p})" for i, (_, p) in enumerate(_PATTERNS))
    + r")(?!\w)"
)
_WORD = re.compile(
    r"(?P<possessive>(?<=\w)\s?['’]s\b(?!-))|&"
    r"|[^\W_][^\W_\u0300-\u036f]*(?:\+\+|#)?|[\w\u0300-\u036f\u0900-\u0dff]+",
    re.IGNORECASE,
)


_fold_word = lru_cache(maxsize=100_000)(fold)


def folded_words(text: str) -> list[tuple[str, int, int]]:
    """The words of `text` as names are compared by, each with where it starts and ends."""
    return [
        (word, match.start(), match.end())
        for match in _WORD.finditer(text)
        if not match["possessive"]
        for word in _fold_word(match[0]).split()
    ]


class CuratedEntity(BaseModel):
    """A name that is always recognised, however it is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    type: str = Field(min_length=1)
    aliases: list[str] = Field(default_factory=list)
    properties: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A name in a text. `name` is what it stands for, which may differ from what is written."""

    name: str
    type: str
    start: int
    end: int
    method: str
    confidence: float
    aliases: tuple[str, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict, hash=False)


class _Lexicon:
    """Known names by their words, so that a text is read once however many there are."""

    def __init__(self, entities: Iterable[CuratedEntity]) -> None:
        self._names: dict[tuple[str, ...], list[tuple[str, CuratedEntity]]] = {}
        lengths: dict[str, set[int]] = {}
        for entity in entities:
            for name in (entity.name, *entity.aliases):
                if words := tuple(fold(name).split()):
                    self._names.setdefault(words, []).append((name, entity))
                    lengths.setdefault(words[0], set()).add(len(words))
        self._lengths = {word: sorted(sizes, reverse=True) for word, sizes in lengths.items()}

    def find(self, text: str) -> Iterator[tuple[int, int, CuratedEntity]]:
        """The longest known name at each place, left to right."""
        if not self._names:
            return
        places = folded_words(text)
        at = 0
        while at < len(places):
            size, entity = self._longest(places, at, text)
            if entity:
                yield places[at][1], places[at + size - 1][2], entity
            at += size

    def _longest(
        self, places: list[tuple[str, int, int]], at: int, text: str
    ) -> tuple[int, CuratedEntity | None]:
        left = len(places) - at
        for size in self._lengths.get(places[at][0], ()):
            if size > left:
                continue
            words = tuple(word for word, _, _ in places[at : at + size])
            for written, entity in self._names.get(words, ()):
                if size > 1 or keeps_capitals(written, text[places[at][1] : places[at][2]]):
                    return size, entity
        return 1, None


def keeps_capitals(written: str, seen: str) -> bool:
    """Whether a single word is the name and not an ordinary word: "WHO", "Apple"."""
    if written.isupper() and len(written) > 1:
        return seen.isupper()
    return not written[0].isupper() or seen[0].isupper()


class Recognizer:
    """Finds names without a model. Curated names win over patterns, patterns over capitals."""

    def __init__(self, curated: Sequence[CuratedEntity] = ()) -> None:
        self._curated = _Lexicon(curated)
        canon = "\n".join(entity.model_dump_json() for entity in curated)
        self.digest = sha256(canon.encode()).hexdigest()
        """Changes when the curated list does, so that documents are read again."""

    @classmethod
    def load(cls, path: Path | None) -> Recognizer:
        """Read a YAML list of {name, type, aliases?, properties?}. Raises `InvalidInput`."""
        if path is None:
            return cls()
        try:
            rows = yaml.safe_load(path.read_text(encoding="utf-8")) or []
            return cls(TypeAdapter(list[CuratedEntity]).validate_python(rows))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InvalidInput(f"The curated entities {path} cannot be read: {error}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise InvalidInput(
                f"The curated entities {path} must be a list of name, type, aliases and "
                f"properties; at {where}: {first['msg']}."
            ) from error

    def find(self, text: str, known: Collection[str] = ()) -> list[Found]:
        """The names in `text`, in reading order.

        `known` are names this text is about, such as its title: they are found as a whole.
        """
        found = [
            Found(e.name, e.type, start, end, "curated", 1.0, tuple(e.aliases), e.properties)
            for start, end, e in self._curated.find(text)
        ]
        titles = _Lexicon(CuratedEntity(name=name, type=NAME) for name in known if fold(name))
        found += [
            Found(entity.name, NAME, start, end, "known", 1.0)
            for start, end, entity in titles.find(text)
            if text[start].isupper() or not entity.name[0].isupper()
        ]
        found += _by_pattern(text)
        taken = _merge(found)
        words = {word for name in known for word in fold(name).split()} - STOP_WORDS
        spans = [
            Found(span.name, NAME, span.start, span.end, "span", span.confidence)
            for span in name_spans(text, words)
        ]
        spans = _with_long_forms(text, spans)
        certain = sorted((f.start, f.end) for f in taken)
        spans = [span for span in spans if not _overlaps(span, certain)]
        return sorted(_with_acronyms(text, taken + spans), key=lambda f: (f.start, -f.end))


def _by_pattern(text: str) -> Iterator[Found]:
    for match in _PATTERN.finditer(text):
        type_ = _PATTERNS[int((match.lastgroup or "p0")[1:])][0]
        yield Found(" ".join(match[0].split()), type_, *match.span(), PATTERN, 1.0)


def _merge(found: list[Found]) -> list[Found]:
    """Without overlap: what came first in the list wins."""
    kept: list[Found] = []
    covered: set[int] = set()
    for one in found:
        places = range(one.start, one.end)
        if covered.isdisjoint(places):
            covered.update(places)
            kept.append(one)
    return kept


def _overlaps(span: Found, certain: list[tuple[int, int]]) -> bool:
    """Whether the span shares text with a certain name, unless it is longer around it.

    The certain names are in order and do not overlap.
    """
    first = bisect_right(certain, span.start, key=itemgetter(1))
    for start, end in certain[first : first + 1 + span.end - span.start]:
        if start >= span.end:
            return False
        inside = span.start <= start and end <= span.end and span.end - span.start > end - start
        if not inside:
            return True
    return False


def _with_long_forms(text: str, spans: list[Found]) -> list[Found]:
    """Join what "(FDA)" abbreviates: "Food" and "Drug Administration" are one name then."""
    places = list(long_forms(text))
    whole = [
        Found(" ".join(text[start:end].split()), NAME, start, end, "span", 0.9)
        for start, end in places
    ]
    ends = [end for _, end in places]

    def inside(one: Found) -> bool:
        at = bisect_right(ends, one.start)
        return at < len(places) and places[at][0] < one.end

    return [one for one in spans if not inside(one)] + whole


def _with_acronyms(text: str, found: list[Found]) -> list[Found]:
    """Let "WHO" stand for the name after which "(WHO)" was written."""
    long_forms: dict[str, Found] = {}
    for one in found:
        match = ACRONYM.match(text, one.end)
        if match and abbreviates(match[1], one.name):
            long_forms.setdefault(match[1], one)
    if not long_forms:
        return found
    names = {one.name: acronym for acronym, one in long_forms.items()}
    resolved = [
        replace(one, name=full.name, type=full.type, confidence=full.confidence)
        if (full := long_forms.get(text[one.start : one.end]))
        else one
        for one in found
    ]
    return [
        replace(one, aliases=(*one.aliases, names[one.name]))
        if one.name in names and names[one.name] not in one.aliases
        else one
        for one in resolved
    ]
