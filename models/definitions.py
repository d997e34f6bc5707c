"""What a text is about: the name that opens it and that its first sentence defines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from . import words as lexicon
from .sentences import sentence_starts

__all__ = ["Definition", "definition"]

REACH = 400
"""Characters within which the name must have met its verb."""

LONGEST = 14
"""Words of a name; longer ones are titles of books, and sentences."""

_ASIDE = re.compile(r"(?<!^)[(\[][^()\[\]]*[)\]]")
_VERB = re.compile(
    r"\s(?P<verb>is|was|are|were|refers?|means)\s(?:to\s)?(?P<article>(?:an?|any|the|one)\s)?"
)
_LIVED = re.compile(r"\b(?:born|died|née?|[bdc]\.|fl\.|circa|reigned)|\d{3,4}", re.IGNORECASE)
_MANNER = (
    "also|better|best|more|most|formerly|previously|now|sometimes|often|commonly|usually|widely"
    "|simply|originally|officially|professionally|popularly|later|legally|once|or|and"
)
_CALLED = (
    "known|called|named|spelled|spelt|written|titled|entitled|styled|credited|billed|released"
    "|referred|abbreviated|shortened|short|stylised|stylized|aka|a\\.k\\.a\\."
)
_ALIAS = re.compile(
    rf"(?P<how>(?:(?:{_MANNER}|{_CALLED}|full|real|born|née?|nee|name:?)\s)+)"
    r"(?:(?:as|to|for|by|under|in [A-Z]\w+|simply|the|his|her|its|their|(?:\w+ )?name:?)\s)*"
)
_BIRTH = re.compile(r"born|née?|nee")
_LANGUAGE = re.compile(r"(?P<language>[A-Z]\w+)(?::| for)?\s?(?=[\"“]|\w)")
_RANKED = re.compile(rf"(?:\d+\w\w )?(?:{'|'.join(sorted(lexicon.RANKS))})\b", re.IGNORECASE)
_FURTHER = re.compile(r"[^\W\d_a-z]|[\"“]|and [A-Z]|\d+\w\w [A-Z]")
_KNOWN_AS = re.compile(r"\s(?:also |better |\w+ly )?known as\s")
_NICKNAME = re.compile(r"\s[\"“'‘](?P<nick>[^\"”'’]+)[\"”'’]\s")
_POSTNOMINAL = re.compile(r"(?:[A-Z]{2,}|PhD|FREng),?")
_AFTER = re.compile(
    r"\s(?:in|on|at|from|by)\s(?=[\d\W]|[A-Z]\w+ \d)|\s(?:when|until|since|due|after|during)\s"
)
_MARKS = ' \t\n"“”„«»*_`,;:'


@dataclass(frozen=True, slots=True)
class Definition:
    """The name that a text defines, what else it says it is called, and how surely it does.

    `variants` are shorter forms that the text does not spell out; `surname` is somebody's last
    word, by which only this text may mean them, and empty for everything else.
    """

    name: str
    aliases: tuple[str, ...]
    variants: tuple[str, ...]
    surname: str
    confidence: float


def definition(text: str) -> Definition | None:
    """The name that opens `text` and is defined by its first sentence, if there is one.

    Confidence: 0.9 "X is a ..." and "X (born 1901) was ...", 0.8 "X is ...".
    """
    opening = text[:REACH].lstrip()
    flat = opening
    while (shorter := _ASIDE.sub(lambda aside: " " * len(aside[0]), flat)) != flat:
        flat = shorter
    verb = _VERB.search(flat)
    if not verb or any(
        0 < at <= verb.start() and not flat[at].islower() for at in sentence_starts(flat)
    ):
        return None
    head, aliases = _split(flat[: verb.start()])
    name = _name(head, present=verb["verb"] in ("is", "are"), article=verb["article"] is not None)
    if not name:
        return None
    asides = [aside[0][1:-1] for aside in _ASIDE.finditer(opening[: verb.start()])]
    aliases += [alias for aside in asides for alias in _in_aside(aside)]
    aliases += _nicknamed(name)
    lived = any(map(_LIVED.search, asides))
    variants = _variants(name, lived)
    last = [*variants, name][0].split()[-1]
    named = lived and " " in name and last.isalpha() and last[0].isupper()
    return Definition(
        name,
        tuple(dict.fromkeys(alias for alias in aliases if alias != name)),
        tuple(dict.fromkeys(variants)),
        last if named else "",
        0.9 if verb["article"] or lived else 0.8,
    )


def _split(subject: str) -> tuple[str, list[str]]:
    """The head of the subject, and the names that stand beside it."""
    subject = re.sub(r"(?<=\w)\s?-\s?(?=\w)", "-", " ".join(subject.split()))
    head, *parts = [part.strip(" ,") for part in re.split(r"[,;]\s", subject)]
    aliases: list[str] = []
    for part in filter(None, parts):
        if _ALIAS.match(part):
            aliases += _called(part)
        elif _RANKED.match(part):
            aliases.append(f"{head}, {part}")
        elif _FURTHER.match(part) and not aliases:
            head = f"{head}, {part}"
    if known := _KNOWN_AS.search(head):
        return head[: known.start()], [*_names(head[known.end() :]), *aliases]
    one, _, other = head.partition(" or ")
    if len(one.split()) > 1 and (len(other.split()) > 1 or other.isupper()):
        return one, [*_names(other.removeprefix("simply ")), *aliases]
    return head, aliases


def _called(part: str) -> list[str]:
    """The names in "also known as X", "or X", "born X Y"; a maiden surname alone is none."""
    found = _ALIAS.match(part)
    if not found:
        return []
    birth = _BIRTH.search(found["how"])
    return [name for name in _names(part[found.end() :]) if not birth or " " in name]


def _names(text: str) -> list[str]:
    """The names that `text` begins with: one, or several joined by "or"."""
    text = _AFTER.split(text)[0]
    quoted = re.findall(r"[\"“]([^\"”]+)[\"”]", text)
    found = quoted or re.split(r"\sor\s(?:(?:simply|also|as|the)\s)*", text)
    return [name for name in (one.strip(_MARKS).removesuffix(".") for one in found) if _is(name)]


def _is(name: str) -> bool:
    """Whether this is written like a name, and no date."""
    words = name.split()
    return (
        0 < len(words) <= LONGEST
        and name[0].isupper()
        and lexicon.CALENDAR.isdisjoint(word.lower().strip(",.") for word in words)
        and not words[-1][-1].isdigit()
    )


def _in_aside(aside: str) -> Iterator[str]:
    """Names in a parenthesis: "also known as X", "German: X", "born X Y, 1 May 1901"."""
    for part in map(str.strip, re.split(r"[,;]\s?", aside)):
        language = _LANGUAGE.match(part)
        if language and language["language"].lower() in lexicon.DEMONYMS:
            yield from _names(part[language.end() :])
        else:
            yield from _called(part)


def _nicknamed(name: str) -> list[str]:
    """The forms of 'Leonard Francis "Len" Worley'."""
    found = _NICKNAME.search(name)
    if not found:
        return []
    before, after = name[: found.start()], name[found.end() :]
    forms = [f"{found['nick'].strip()} {after}", f"{before} {after}"]
    return [*forms, before] if " " in before else forms


def _variants(name: str, lived: bool) -> list[str]:
    """The name without honorifics; of somebody, one of the first names and the last."""
    words = _NICKNAME.sub(" ", name).split()
    count = len(words)
    while len(words) > 2 and words[0].lower() in lexicon.HONORIFICS:
        words = words[1:]
    while lived and len(words) > 2 and _POSTNOMINAL.fullmatch(words[-1]):
        words = words[:-1]
    variants = [" ".join(words).rstrip(",")] if len(words) < count else []
    if lived and 2 < len(words) < 6 and all(w[0].isupper() and w.isalpha() for w in words):
        variants += [f"{first} {words[-1]}" for first in words[:-1]]
    return variants


def _name(head: str, *, present: bool, article: bool) -> str | None:
    """The head as a name or term, or nothing if it only opens a sentence."""
    bare = head.strip(_MARKS)
    words = bare.split()
    if not 0 < len(words) <= LONGEST or not any(map(str.isalnum, bare)):
        return None
    if head[0] in '"“*_«':
        return bare
    first = words[0].lower()
    inner = words[1:] if first in ("a", "an", "the") else words
    content = [w for w in inner if w.lower() not in lexicon.STOP_WORDS | lexicon.CONNECTORS]
    capital = [word for word in inner if word[0].isupper()]
    titled = article and len(capital) > 1 and not inner[1][0].isdigit()
    if not content and not titled:
        return None
    if inner[0].lower() in lexicon.STARTERS and not titled:
        return None
    lower = [word for word in content if word[0].islower()]
    if not lower or (titled and inner is words and len(lower) < len(capital)):
        return bare
    if first == "the" or not article or len(inner) > 4 or len(content) < len(inner):
        return None
    if first in ("a", "an"):
        return " ".join(inner)
    return bare if present else None
