"""Where names stand in a text, by capitals and quotation marks; no capitals, no names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from . import words as lexicon

__all__ = ["NameSpan", "name_spans"]

_LONGEST = 8  # capitalised words in a row, twice as many with connectors; more are a list
_TOKEN = re.compile(
    r"(?P<word>(?:[^\W\d_]\.){2,}|[^\W_](?:[^\W_]|['’‘ʼʻ](?=[^\W_])|&(?=\w)|[\u0300-\u036f])*?)"
    r"(?P<possessive>\s?['’][sS]\b|(?<=s)['’](?=\s[A-Z]))?"
    r"(?![^\W_]|['’‘ʼʻ&][^\W_]|[\u0300-\u036f])"
)
_QUOTED = re.compile(
    r"[“«„]\s?([^“”«»„\n]{2,90}?)\s?[”»“]|``\s?([^`\n]{2,90}?)\s?''"
    r"|(?<![*\w])\*{1,2}([^*\s][^*\n]{0,88}?)\*{1,2}(?![*\w])|(?<!\w)_([^_\s][^_\n]{0,88}?)_(?!\w)"
)
_SENTENCE_END = re.compile(r"[.!?…:|#*•]|\n\s*\n|\n\s*[-+]\s|``|''")
_JOINING = re.compile(r"[ \t]*\n?[ \t]*|-[ \t]?|[‐‑–+]|/ ?| ?& ?")
_ROMAN = re.compile(r"[IVX]+")


class NameSpan(NamedTuple):
    """A run of words that looks like a name, and how surely, in [0.5, 0.95]."""

    name: str
    start: int
    end: int
    confidence: float


@dataclass(slots=True)
class _Token:
    word: str
    start: int
    end: int
    possessive: bool
    gap: str
    """What stands between this word and the one before."""
    opens: bool
    """It may owe its capital to opening a sentence."""
    capital: bool

    @property
    def lower(self) -> str:
        return self.word.lower()

    @property
    def number(self) -> bool:
        return self.word[0].isdigit()

    @property
    def acronym(self) -> bool:
        return len(self.word) > 1 and self.word.isupper()

    def joins(self, before: _Token) -> bool:
        """Only space, hyphen, ampersand, slash or an abbreviation's dot stands before it."""
        if _JOINING.fullmatch(self.gap):
            return bool(self.gap) or before.possessive or before.word.endswith(".")
        if self.gap in (". ", "."):
            return before.lower in lexicon.ABBREVIATIONS or (
                len(before.word) == 1 and before.capital
            )
        return self.gap == ", " and self.lower in lexicon.SUFFIXES


def name_spans(text: str, known: Collection[str] = ()) -> list[NameSpan]:
    """Find names by capitals and quotation marks, in reading order.

    `known` holds lower-case words certain to belong to names here. Confidence: 0.95 a quoted
    title; 0.9 several words; 0.85 a name with the rank after it; 0.8 one word inside a sentence,
    or an acronym; 0.75 one word that opens a sentence and is capitalised inside another or known;
    0.6 the same seen nowhere else, or the last word of a longer name here (a surname); 0.5 a
    nationality or language alone, or a list without commas. Left out: months and weekdays,
    numbers, and words that open a sentence but also stand in lower case.
    """
    tokens = _tokens(text)
    quoted = list(_titles(text))
    spans = [_named(text, start, end, 0.95) for start, end in quoted]
    covered = {at for start, end in quoted for at in range(start, end)}
    runs = list(_runs([token for token in tokens if token.start not in covered]))
    lower = {token.word for token in tokens if not token.capital}
    inside = {t.lower for t in tokens if t.capital and not t.opens} | set(known)
    surnames = {run[-1].lower for run in runs if len(run) > 1 and all(t.capital for t in run)}
    spans.extend(
        _span(text, run, confidence)
        for run in runs
        if (confidence := _confidence(run, lower, inside, surnames))
    )
    spans.extend(
        _span(text, [*name, *rank], 0.85)
        for name, rank in pairwise(runs)
        if text[name[-1].end : rank[0].start] == ", "
        and len(rank) > 1
        and rank[rank[0].number].lower in lexicon.RANKS
    )
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _span(text: str, run: list[_Token], confidence: float) -> NameSpan:
    return _named(text, run[0].start, run[-1].end, confidence)


def _named(text: str, start: int, end: int, confidence: float) -> NameSpan:
    name = re.sub(r"(?<=\w)\s?-\s?(?=\w)", "-", " ".join(text[start:end].split()))
    return NameSpan(name, start, end, confidence)


def _titles(text: str) -> Iterator[tuple[int, int]]:
    """Quoted or emphasised words that are written like a title."""
    marks = [match.start() for match in re.finditer('"', text)]
    pairs = [(a + 1, b) for a, b in zip(marks[::2], marks[1::2], strict=False)]
    pairs += [match.span(match.lastindex or 0) for match in _QUOTED.finditer(text)]
    for start, end in sorted(pairs):
        inner = text[start:end]
        words = inner.split()
        weighty = [word for word in words if word.lower() not in lexicon.STOP_WORDS]
        written = sum(word[0].isupper() or word[0].isdigit() for word in weighty)
        if (
            len(words) <= 10
            and 2 * written > len(weighty)
            and (words[0][0].isupper() or words[0][0].isdigit())
            and not re.search(r"[.!?,;] |\n", inner.strip(" ,."))
        ):
            start += len(inner) - len(inner.lstrip())
            yield start, start + len(inner.strip().rstrip(",."))


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    for match in _TOKEN.finditer(text):
        word, gap = match["word"], text[at : match.start()]
        token = _Token(
            word=word,
            start=match.start(),
            end=match.end("word"),
            possessive=match["possessive"] is not None,
            gap=gap,
            opens=not tokens or bool(_SENTENCE_END.search(gap)),
            capital=word[0].isupper() or (word[0].islower() and not word.islower()),
        )
        if tokens and gap in (". ", "."):
            token.opens = not token.joins(tokens[-1])
        tokens.append(token)
        at = match.end()
    return tokens


def _runs(tokens: list[_Token]) -> Iterator[list[_Token]]:
    """Maximal runs of capitalised words with connectors between, trimmed to what may be a name."""
    at = 0
    while at < len(tokens):
        if not _begins(tokens, at):
            at += 1
            continue
        end = at + 1
        while step := _extension(tokens, at, end):
            end += step
        if run := _trim(tokens[at:end]):
            yield run
        at = end


def _dated(tokens: list[_Token], at: int) -> bool:
    """Whether this is a month beside a number, as in a date."""
    beside = tokens[max(at - 1, 0) : at] + tokens[at + 1 : at + 2]
    return tokens[at].lower in lexicon.CALENDAR and any(token.number for token in beside)


def _begins(tokens: list[_Token], at: int) -> bool:
    token = tokens[at]
    if token.capital:
        return not _dated(tokens, at)
    after = tokens[at + 1 : at + 3]
    if not after or not after[0].capital or not after[0].joins(token):
        return False
    if not token.number:
        return token.lower in lexicon.PARTICLES and after[0].gap in ("-", "- ")
    if _dated(tokens, at + 1) or not token.word[-1].isdigit():
        return not token.word[-1].isdigit()
    pair = len(after) == 2 and after[1].capital and after[1].joins(after[0])
    near = tokens[at + 1 : at + 5] if pair else after[:1]
    return len(token.word) == 4 and any(later.lower in lexicon.EVENTS for later in near)


def _extension(tokens: list[_Token], start: int, end: int) -> int:
    """How many of the tokens from `end` on continue the run from `start`."""
    ahead = tokens[end : end + 4]
    if not ahead or not ahead[0].joins(tokens[end - 1]):
        return 0
    first = ahead[0]
    if first.capital:
        return int(not _dated(tokens, end))
    if first.number:
        last = tokens[end - 1]
        fits = len(first.word) <= 4 and first.word.isdigit() and not last.possessive
        return int(fits and last.lower not in lexicon.CALENDAR)
    if first.gap == "-" and first.lower not in lexicon.UNHYPHENED:
        return 1
    if len(ahead) > 1 and ahead[1].capital and ahead[1].joins(first):
        if first.lower == "the":
            return 2 * _bynamed(tokens, start, end)
        if first.lower == "and":
            return 2 * _twinned(tokens, start, end)
    if first.lower in ("for", "on") and lexicon.INSTITUTIONS.isdisjoint(_words(tokens[start:end])):
        return 0
    for size, (token, after) in enumerate(pairwise(ahead), 1):
        if token.lower not in lexicon.CONNECTORS or not after.joins(token):
            return 0
        if after.capital:
            return 0 if token.lower == "the" and size == 1 else size + 1
    return 0


def _words(tokens: Iterable[_Token]) -> list[str]:
    return [token.lower for token in tokens]


def _bynamed(tokens: list[_Token], start: int, end: int) -> bool:
    """Whether "the" at `end` brings a byname: "Louis the Pious", "Ivan IV the Terrible"."""
    after = tokens[end + 2 : end + 3]
    if end - start > 3 or (after and after[0].capital and after[0].joins(tokens[end + 1])):
        return False
    if tokens[end + 1].lower in lexicon.BYNAMES:
        return True
    short = end - start == 1 or (end - start == 2 and bool(_ROMAN.fullmatch(tokens[end - 1].word)))
    return short and lexicon.UNBYNAMED.isdisjoint(_words(tokens[max(start - 1, 0) : start]))


def _twinned(tokens: list[_Token], start: int, end: int) -> bool:
    """Whether "and" at `end` stands inside one name: "Institute of Arts and Sciences"."""
    if tokens[end - 1].lower in lexicon.TWINS and tokens[end + 1].lower in lexicon.TWINS:
        return True
    words = _words(tokens[start:end])
    last = max((at for at, word in enumerate(words) if word in ("of", "for")), default=0)
    if words[max(last - 1, 0)] in lexicon.RANKS and last:
        return _words(tokens[end + 2 : end + 3]) != ["of"]
    return (
        not lexicon.INSTITUTIONS.isdisjoint(words[:last])
        and len(words) - last <= 4
        and tokens[end + 1].lower not in lexicon.INSTITUTIONS
    )


def _trim(run: list[_Token]) -> list[_Token]:
    articles = ("the", "a", "an")
    while len(run) > 1 and run[0].opens and run[0].lower in lexicon.STARTERS:
        second = run[1]
        if second.lower in lexicon.STARTERS - set(articles) and not second.acronym:
            break  # two in a row open a title: "Where Are You Going"
        run = run[1:]
        second.opens = second.lower in articles
    while run and not (run[0].capital or run[0].number or run[0].lower in lexicon.PARTICLES):
        run = run[1:]
    while len(run) > 1 and run[-1].lower in lexicon.STOP_WORDS and not run[-1].word.isupper():
        run = run[:-1]
    return _without_honorific(run)


def _without_honorific(run: list[_Token]) -> list[_Token]:
    words = _words(run)
    bare = next((at for at, word in enumerate(words) if word not in lexicon.TITULAR), 0)
    bynamed = words[-2:-1] == ["the"]
    if lexicon.HONORIFICS.isdisjoint(words[:bare]) and not bynamed:
        return run
    whole = not lexicon.NAMED_AFTER.isdisjoint(words)
    return run if whole or len(run) - bare < 2 or not run[bare].capital else run[bare:]


def _confidence(
    run: list[_Token], lower: Collection[str], inside: Collection[str], surnames: Collection[str]
) -> float:
    words = _words(run)
    first, word = run[0], words[0]
    if all(w in lexicon.CALENDAR or w.isdigit() for w in words):
        return 0.0
    if lexicon.STOP_WORDS.issuperset(words) and not (first.acronym and len(run) == 1):
        return 0.0
    if len(run) > 1:
        return 0.9 if len(run) <= _LONGEST * (2 - lexicon.CONNECTORS.isdisjoint(words)) else 0.5
    if len(word) == 1:
        return 0.0
    if word in lexicon.DEMONYMS:
        return 0.5
    if word in surnames:
        return 0.6
    if first.acronym or not first.opens:
        return 0.8
    if word in lexicon.STARTERS or word in lower:
        return 0.0
    return 0.75 if word in inside else 0.6
