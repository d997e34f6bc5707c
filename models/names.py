"""What a name is: when two spellings are one, and which words of a question may be names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from .spans import name_spans
from .words import STOP_WORDS

__all__ = ["fold", "mentions", "ngrams", "normalise", "strip_qualifier"]

_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
    | dict.fromkeys("’‘ʼʻ`´", "'")
    | {"\u00ad": None, "&": " and "}
)
_POSSESSIVE = re.compile(r"(?<=\w)\s*'s\b(?!-)")
_WORD = re.compile(r"[^\s!-/:-@\[-`{-~]+(?:(?:\+\+|#)(?!\w))?")
_QUALIFIER = re.compile(r"(?P<name>.*\S)\s*\(\s*(?P<qualifier>[^()]*?)\s*\)\s*", re.DOTALL)


def fold(text: str) -> str:
    """Drop case, accents, possessives and punctuation; one space between words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = "".join(_unaccented(unicodedata.normalize("NFKD", folded)))
        folded = unicodedata.normalize("NFKC", folded)
    folded = _POSSESSIVE.sub("", folded.translate(_PLAIN))
    if not folded.isascii():
        folded = "".join(c if c.isascii() or _in_word(c) else " " for c in folded)
    words = _WORD.findall(folded)
    return " ".join(word for word in words if word.isalnum() or any(map(str.isalnum, word)))


def _unaccented(decomposed: str) -> Iterator[str]:
    """Leave marks out after Latin letters; elsewhere they make a different letter."""
    latin = False
    for char in decomposed:
        if "\u0300" <= char <= "\u036f":
            if not latin:
                yield char
        else:
            latin = char < "\u0250" or "\u1e00" <= char <= "\u1eff"
            yield char


def _in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char) in ("Mn", "Mc")


@lru_cache(maxsize=100_000)
def normalise(name: str) -> str:
    """The form under which spellings of one name are equal; applied twice it changes nothing.

    A leading article goes, unless an initial follows it: "A. A. Milne" is not "milne". A name
    of nothing but signs ("!!!") stays what it is.
    """
    words = _without_article(fold(name).split())
    return " ".join(words) or " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _without_article(words: list[str]) -> list[str]:
    while len(words) > 1 and (words[0] == "the" or (words[0] in ("a", "an") and len(words[1]) > 1)):
        words = words[1:]
    return words


def strip_qualifier(name: str) -> tuple[str, str]:
    """Name and trailing parenthesis: "Alice (2010 film)" gives ("Alice", "2010 film")."""
    found = _QUALIFIER.fullmatch(name)
    return (found["name"].strip(), found["qualifier"]) if found else (name.strip(), "")


def ngrams(question: str, longest: int = 8) -> list[str]:
    """Runs of up to `longest` words that may be names, normalised, in reading order.

    None starts or ends with a function word, unless that is capitalised inside the question, as
    in titles ("In the Mood for Love").
    """
    words: list[tuple[str, bool]] = []
    for raw in re.sub(r"\s+(?=['’]s\b)", "", question, flags=re.IGNORECASE).split():
        titled = bool(words) and raw.lstrip("\"'“‘(").istitle()
        words += [(word, titled or word not in STOP_WORDS) for word in fold(raw).split()]
    found: dict[str, None] = {}
    for start, (_, opens) in enumerate(words):
        for end in range(start + 1, min(start + longest, len(words)) + 1) if opens else ():
            if words[end - 1][1]:
                run = [word for word, _ in words[start:end]]
                if any(word not in STOP_WORDS for word in run):
                    found[" ".join(_without_article(run))] = None
    return list(found)


def mentions(question: str) -> list[tuple[str, Literal["span", "ngram"]]]:
    """Words that may name something: spans that look like names, then other n-grams.

    No two are equal when normalised; within each kind the longest come first.
    """
    spans = [span.name for span in name_spans(question)]
    found: dict[str, tuple[str, Literal["span", "ngram"]]] = {}
    for span in sorted(spans, key=lambda name: -len(name.split())):
        found.setdefault(normalise(span), (span, "span"))
    for run in sorted(ngrams(question), key=lambda name: -len(name.split())):
        found.setdefault(run, (run, "ngram"))
    return list(found.values())
