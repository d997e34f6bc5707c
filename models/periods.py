"""The period that words name, as two dates: years, decades, centuries, ranges, "last year".

Written here, since libraries read a date as a moment: what a decade, a century, a range or "before"
spans they do not say.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from typing_extensions import TypedDict

__all__ = ["RECENT_YEARS", "DateRange", "PeriodFound", "find_period", "period_of", "years_before"]

RECENT_YEARS = 5
"""What "recently" reaches back."""


class DateRange(TypedDict):
    """From one ISO date to another, inclusive; none is open."""

    date_from: str | None
    date_to: str | None


class PeriodFound(NamedTuple):
    """The words that name a period, the place in the text where they start, what they mean."""

    words: str
    start: int
    period: DateRange


class _Days(NamedTuple):
    first: date
    last: date


class _Named(NamedTuple):
    start: int
    end: int
    days: _Days


class _Bounds(NamedTuple):
    start: int
    end: int
    first: date | None
    last: date | None


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_MONTHS = _listed("jan feb mar apr may jun jul aug sep oct nov dec")
_TENS = _listed("twenties thirties forties fifties sixties seventies eighties nineties")
_NUMBERS = _listed(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty"""
)
_ORDINALS = _listed(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
    fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first"""
)
_COUNTS = {word: count for count, word in enumerate(_NUMBERS, start=1)}
_COUNTS |= {"a": 1, "couple of": 2, "few": 3, "several": 5}
_PARTS = {"early": (0.0, 0.4), "mid": (0.3, 0.7), "late": (0.6, 1.0)}
"""Of a decade or a century; they overlap, since nobody draws the line."""
_YEARS = {"year": 1, "decade": 10, "century": 100}


def _calendar(found: re.Match[str], _today: date) -> _Days | None:
    """A year, a month of it, or a day of that, if there is one."""
    groups = found.groupdict()
    year, month, day = int(groups["year"]), groups.get("month"), groups.get("day")
    if month is None:
        return _years(year)
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    first = date(year, number, 1)
    if day is None:
        return _whole(first, "month")
    there = 1 <= int(day) <= monthrange(year, number)[1]
    return _whole(first.replace(day=int(day)), "day") if there else None


def _abbreviated(found: re.Match[str], _today: date) -> _Days | None:
    """`1990-95`."""
    year = int(found["year"])
    length = int(found["end"]) - year % 100 + 1
    return _years(year, length) if length > 1 else None


def _decade(found: re.Match[str], today: date) -> _Days | None:
    """`1980s`; the 1800s are a century, since it is over, and the 2000s ten years."""
    year = int(found["decade"])
    return _part(found["part"], year, 10 if year % 100 or year + 100 > today.year else 100)


def _spoken_decade(found: re.Match[str], today: date) -> _Days | None:
    """`the eighties`, `the '80s`: the latest that are over."""
    tens = int(found["tens"] or 10 * (_TENS.index(found["word"].lower()) + 2))
    year = today.year // 100 * 100 + tens
    return _part(found["part"], year if year + 10 <= today.year else year - 100, 10)


def _century(found: re.Match[str], _today: date) -> _Days | None:
    word = found["century"].lower().replace(" ", "-")
    number = int(word) if word.isdigit() else _ORDINALS.index(word) + 1
    return _part(found["part"], 100 * number - 99, 100) if 1 <= number <= len(_ORDINALS) else None


def _part(part: str | None, year: int, length: int) -> _Days:
    begin, end = _PARTS[part.lower()] if part else (0.0, 1.0)
    first = year + round(begin * length)
    return _years(first, year + round(end * length) - first)


def _years(first: int, length: int = 1) -> _Days:
    return _Days(date(first, 1, 1), date(first + length - 1, 12, 31))


def _near(found: re.Match[str], today: date) -> _Days | None:
    """The calendar's own month in `this month` and year in `last year`; `past` ends today."""
    unit, which = found["unit"].lower(), found["which"].lower()
    begin = _back(today, int(which != "this"), unit)
    return _Days(begin, today) if which == "past" else _whole(begin, unit)


def _lately(found: re.Match[str], today: date) -> _Days | None:
    """`the last ten years`, up to today."""
    return _Days(_back(today, _count(found["number"]), found["unit"].lower()), today)


def _ago(found: re.Match[str], today: date) -> _Days | None:
    """`ten years ago`: that year."""
    unit = found["unit"].lower()
    return _whole(_back(today, _count(found["number"]), unit), unit)


def _one_day(found: re.Match[str], today: date) -> _Days | None:
    day = _back(today, int(found[0].lower() == "yesterday"), "day")
    return _Days(day, day)


def _count(number: str) -> int:
    return int(number) if number.isdigit() else _COUNTS[number.lower()]


def years_before(day: date, years: int) -> date:
    """The same day so many years before, the 28th of February for a 29th."""
    return _back(day, years, "year")


def _back(day: date, count: int, unit: str) -> date:
    if unit in ("day", "week"):
        return day - timedelta(days=count * (7 if unit == "week" else 1))
    months = count * 12 * _YEARS[unit] if unit in _YEARS else count
    year, month = divmod(12 * day.year + day.month - 1 - months, 12)
    month += 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def _whole(day: date, unit: str) -> _Days:
    """The day, week (from Monday), month, year, decade or century around a day."""
    if unit == "day":
        return _Days(day, day)
    if unit == "week":
        return _Days(monday := day - timedelta(days=day.weekday()), monday + timedelta(days=6))
    if unit == "month":
        return _Days(day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1]))
    length, ones = _YEARS[unit], int(unit == "century")
    return _years((day.year - ones) // length * length + ones, length)


_MONTH = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?P<year>1\d{3}|20\d{2})"
_TH = "(?:st|nd|rd|th)"
_AD = r"(?![\d.,]\d|\s*(?:bce?\b|b\.\s?c\.))"
_PART = r"(?:(?P<part>early|mid|late)[\s-](?:the\s)?)?"
_UNIT = "(?P<unit>day|week|month|year|decade)"
_NUMBER = rf"(?P<number>\d\d?|{'|'.join(_COUNTS)})"

_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], _Days | None]], ...] = tuple(
    (re.compile(rf"(?<![\w.,])(?:{form})(?!\w)", re.IGNORECASE), meaning)
    for form, meaning in (
        (rf"{_YEAR}-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>\d\d))?", _calendar),
        (rf"(?P<day>\d\d?){_TH}?(?: of)? {_MONTH},? {_YEAR}", _calendar),
        (rf"{_MONTH} (?P<day>\d\d?){_TH}?,? {_YEAR}", _calendar),
        (rf"{_MONTH},?(?: of)? {_YEAR}", _calendar),
        (rf"{_YEAR}\s?[-–/]\s?(?P<end>\d\d)(?!-)", _abbreviated),
        (rf"{_PART}(?P<decade>(?:1\d|20)\d0)['’]?s", _decade),
        # Not "in his eighties", which is an age.
        (
            rf"(?:\A|the\s|(?<=and\s)|(?<=or\s)|(?=['’])){_PART}"
            rf"(?:['’]?(?P<tens>\d0)['’]?s|(?P<word>{'|'.join(_TENS)}))",
            _spoken_decade,
        ),
        (
            rf"{_PART}(?P<century>\d\d?(?={_TH})|{'|'.join(_ORDINALS[::-1])}|twenty first){_TH}?"
            rf"[\s-]century{_AD}",
            _century,
        ),
        (rf"{_YEAR}{_AD}", _calendar),
        (rf"(?P<which>this|last|past|previous) {_UNIT[:-1]}|century)", _near),
        (rf"(?:last|past|previous) {_NUMBER} {_UNIT}s?", _lately),
        (rf"{_NUMBER} {_UNIT}s? ago", _ago),
        (
            "recently|lately|nowadays|these days|recent years",
            lambda _, today: _Days(years_before(today, RECENT_YEARS), today),
        ),
        ("today|yesterday", _one_day),
    )
)

_OPENINGS = {
    "after": "after|following|later than",
    "before": "before|prior to|earlier than",
    "since": "since|starting in|starting from|beginning in",
    "until": "until|till|up to|by",
    "in": "between|from|in|during|of|around|about|circa|throughout|over|within|for|on",
}
_KIND = {words: kind for kind, opening in _OPENINGS.items() for words in opening.split("|")}
_OPENING = re.compile(
    rf"\b(?P<opening>{'|'.join(sorted(_KIND, key=len, reverse=True))})"
    r"(?:\s(?:the|of|in|year|end|start|beginning|about|around))*\s$",
    re.IGNORECASE,
)
_JOINING = re.compile(
    r"\s?[-–—/]\s?|,?\s(?:and|or|to|through|thru|until|till|up to)\s(?:the\s)?", re.IGNORECASE
)
_ONWARDS = re.compile(r"\s(?:onwards?\b|on(?=\s*(?:[,.?!;]|$))|or later\b)", re.IGNORECASE)


def period_of(text: str, *, today: date) -> DateRange | None:
    """The first period that `text` names; `today` is what "last year" is counted from.

    Decades and centuries are whole: the 1980s end with 1989, the 19th century begins with 1801.
    "Before" and "after" leave out what they name, "since", "until" and "by" do not.
    """
    found = find_period(text, today=today)
    return found.period if found else None


def find_period(text: str, *, today: date) -> PeriodFound | None:
    """The first period that `text` names and its words, "in" or "since" before them included."""
    named = _named(text, today)[:2]
    if not named:
        return None
    first, second = named[0], named[-1] if len(named) > 1 else None
    found = _bounded(text, first)
    if second and found.first and found.last and _JOINING.fullmatch(text[first.end : second.start]):
        days = sorted([*first.days, *second.days])
        found = _bounded(text, _Named(first.start, second.end, _Days(days[0], days[-1])))
    elif second and found.last is None:
        end = _bounded(text, second)
        if end.first is None:
            found = found._replace(end=end.end, last=end.last)
    begin, last = (day.isoformat() if day else None for day in (found.first, found.last))
    period = DateRange(date_from=begin, date_to=last)
    return PeriodFound(text[found.start : found.end], found.start, period)


def _named(text: str, today: date) -> list[_Named]:
    """What is dated in `text`, in reading order, the longest of what overlaps."""
    found = [
        _Named(*match.span(), days)
        for form, meaning in _FORMS
        for match in form.finditer(text)
        if (days := meaning(match, today))
    ]
    kept: list[_Named] = []
    for one in sorted(found, key=lambda named: (named.start, -named.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _bounded(text: str, named: _Named) -> _Bounds:
    """What "since" and the like before it, or "onwards" after it, make of a dated span."""
    start, end, (first, last) = named
    opening, onwards = _OPENING.search(text[:start]), _ONWARDS.match(text, end)
    start = opening.start() if opening else start
    kind = _KIND[opening["opening"].lower()] if opening else "in"
    if kind == "before":
        return _Bounds(start, end, None, first - timedelta(days=1))
    if kind == "until":
        return _Bounds(start, end, None, last)
    if kind == "after":
        return _Bounds(start, end, last + timedelta(days=1), None)
    if kind == "since" or onwards:
        return _Bounds(start, onwards.end() if onwards else end, first, None)
    return _Bounds(start, end, first, last)
