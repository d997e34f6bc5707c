"""What kind of connection an English question asks for, told by its words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple, get_args

from ..prompts.understand_question import Intent
from .names import normalise
from .periods import DateRange, PeriodFound, find_period
from .places import PLACES
from .spans import NameSpan, name_spans

__all__ = ["LEAST_CONFIDENCE", "Reading", "read_question"]

LEAST_CONFIDENCE = 0.5
"""An intent less sure than this counts as general."""

LONGEST = 1000
"""Characters. A longer text is a page, of which patterns of questions say nothing."""


class Reading(NamedTuple):
    """What a question asks about.

    `confidence` in [0, 1] is that of the likeliest intent, which is `general` below a half. `time`
    and `place` are the question's words; `period` is what `time` means.
    """

    intent: Intent
    confidence: float
    time: str | None
    period: DateRange | None
    place: str | None


# The question is matched in lower case, with words in capitals for what stands there: a TIME, a
# PLACE that is known as one, another NAME.
_KIN = (
    r"(?:(?:great[- ]?)*(?:grand|step|half[- ]|foster[- ]|god)?(?:mother|father|parents?|sons?"
    r"|daughters?|child(?:ren)?|brothers?|sisters?|mum|mom|dad|ma|pa)|siblings?|twins?|wi(?:fe|ves)"
    r"|husbands?|spouses?|partners?|widow(?:er)?s?|fianc[eé]e?s?|uncles?|aunts?|nieces?|nephews?"
    r"|cousins?|famil(?:y|ies)|relatives?|ancestors?|descendants?|heirs?|in-laws?|kin)(?:-in-law)?"
)
_KIN_VERB = r"(?:married|marry|marries|divorced?|engaged to|adopted|descend(?:s|ed)? from)"
_MAKER = (
    r"(?:authors?|writers?|directors?|composers?|performers?|producers?|painters?|sculptors?"
    r"|architects?|inventors?|designers?|creators?|editors?|publishers?|founders?|owners?"
    r"|developers?|screenwriters?|lyricists?|singers?)"
)
_MADE = (
    r"(?:wrote|written|directed|composed|performed|produced|painted|sculpted|designed|invented"
    r"|created|edited|published by|founded by|starr(?:ed|ing)|featur(?:ed|ing)|recorded by)"
)
_WORK = (
    r"(?:work(?:s|ed|ing)? (?:with|for|under|at|alongside)|colleagues?|co-?workers?|employ(?:ers?"
    r"|ees?|ed)|boss|mentor(?:s|ed)?|students? of|teacher|taught|serv(?:ed|ing) (?:with|under|as)"
    r"|members? of|belong(?:s|ed)? to|president|chairman|ceo|manage[rd]s?|coach(?:es|ed)?"
    r"|succeeded|successors?|predecessors?|led by|play(?:s|ed) for|owned by|owns|parent company)"
)
_ACQUAINTED = r"(?:know|knew|known|meet|met|befriend(?:ed)?|friends?|rivals?|enem(?:y|ies)|ally)"
_PERSON = (
    r"(?:(?:my |our |your |the )?(?:NAME|grand(?:ma|pa|mother|father)|granny|nana|mother|father|mum"
    r"|mom|dad|uncle|aunt|sister|brother|he|she|they))"
)
_COLLECTIONS = (
    r"(?:collections?|namespaces?|archives?|corpora|databases?|projects?|lega(?:cy|cies)"
    r"|families|books|sets|sources)"
)
_AREA = (
    r"(?:city|cities|town|village|country|countries|county|state|province|region|district"
    r"|continent|island|street|neighbou?rhood|place|places|location|river|mountain|building)"
)
_ABOUT = r"(?:(?:stories|story|memories|anything|everything|something|more|tell me|tales?) )"

_TABLE: tuple[tuple[Intent, float, str], ...] = (
    ("relational", 0.85, rf"(?:'s?|\b(?:my|his|her|their|whose)) (?:\w+ )?{_KIN}\b"),
    ("relational", 0.85, rf"\b{_KIN} of\b"),
    ("relational", 0.6, rf"\b{_KIN}\b"),
    ("relational", 0.75, rf"\b{_KIN_VERB}\b"),
    ("relational", 0.75, rf"\b(?:{_MAKER}|{_MADE})\b"),
    ("relational", 0.65, rf"\b{_WORK}\b"),
    ("relational", 0.6, rf"\b{_ACQUAINTED}\b"),
    ("relational", 0.8, r"\b(?:relationships?|connections?|connected|linked|related)\b"),
    ("temporal", 0.75, r"^(?:and |so |but )?(?:since |until )?when\b"),
    ("temporal", 0.75, r"\b(?:what|which) (?:\w+ ){0,2}(?:year|decade|century|month|day|date|era)"),
    ("temporal", 0.4, r"\bTIME\b"),
    ("temporal", 0.6, r"\b(?:happen(?:ed|ing|s)?|going on|events?|do|did|life|like)\b.* TIME\b"),
    ("temporal", 0.6, r"^TIME\b.*\b(?:happen(?:ed|ing|s)?|do|did|was|were)\b"),
    ("temporal", 0.55, r"\b(?:happened|came|did|do) (?:\w+ ){0,3}(?:before|after|during)\b"),
    ("temporal", 0.6, r"\b(?:timeline|chronolog\w+|birthday|date of|how long ago|how old)\b"),
    ("temporal", 0.55, r"\b(?:older|younger|lived longer|earlier|more recent(?:ly)?)\b"),
    ("temporal", 0.55, r"\b(?:born|died|released|founded|published|opened) (?:first|later|last)\b"),
    ("spatial", 0.75, r"^(?:and |so |but )?(?:from )?where\b"),
    ("spatial", 0.75, rf"\b(?:what|which) (?:\w+ )?{_AREA}\b"),
    ("spatial", 0.6, r"\b(?:place of|birthplace|hometown|capital of|located|near(?:by|est)?)\b"),
    ("spatial", 0.65, rf"\b{_ABOUT}(?:about|of|from|in|at|near) (?:the )?PLACE\b"),
    ("spatial", 0.55, r"\b(?:happened|took place|live[ds]?|visit(?:ed)?)\b.* (?:the )?PLACE\b"),
    ("spatial", 0.3, r"\b(?:in|at|near|around|from) (?:the )?(?:PLACE|NAME)\b"),
    ("entity_focused", 0.85, r"^(?:who|what) (?:is|was|are|were|'s) (?:the |an? )?(?:NAME|PLACE)$"),
    ("entity_focused", 0.55, r"^(?:who|what) (?:is|was|are|were) (?:the |an? )?[a-z][\w-]*$"),
    (
        "entity_focused",
        0.8,
        r"\b(?:tell|know|learn|hear|more|said|information|details|facts|everything|anything"
        r"|stories|memories)\b.* about (?:the |my |our |an? )?"
        r"(?!(?:it|this|that|these|those|you|yourself|us|me)$)(?:NAME|[a-z][\w-]*)$",
    ),
    (
        "entity_focused",
        0.75,
        r"^(?:describe|summari[sz]e|introduce) (?:the )?(?:NAME|[a-z][\w-]*)$",
    ),
    (
        "cross_namespace",
        0.9,
        rf"\b(?:across|between|both|other|another|separate|different|all) (?:the |our |my |these )?"
        rf"(?:two |other |different )?{_COLLECTIONS}\b",
    ),
    (
        "cross_namespace",
        0.9,
        rf"^(?:did|does|do|has|have|had|could) {_PERSON} (?:and {_PERSON} )?(?:\w+ )?"
        rf"{_ACQUAINTED} (?:{_PERSON}|each other|one another)\b",
    ),
    ("cross_namespace", 0.6, r"\bpaths? (?:of .+ )?cross(?:ed)?\b|\bcross(?:ed)? paths\b"),
    ("cross_namespace", 0.5, rf"\bboth {_PERSON} and {_PERSON}\b"),
    ("cross_namespace", 0.5, r"\bNAME and NAME\b.* (?:in common|share)\b"),
)
PATTERNS = tuple((intent, weight, re.compile(pattern)) for intent, weight, pattern in _TABLE)
"""Intent, how sure a match makes of it, and what is matched."""

UNSURE = 0.6
"""How sure a name is that may owe its capital to opening the question ("Stories about ...")."""

_LOWER_PLACE = re.compile(rf"\b(?:{'|'.join(sorted(PLACES, key=len, reverse=True))})\b")
_DIGITS = re.compile(r"[\d–/-]+")
_LOCATIVE = re.compile(r"\b(?:in|at|near|around|from|to|outside|inside|throughout)\s(?:the\s)?$")


def read_question(question: str, *, today: date | None = None) -> Reading:
    """Tell the intent, the period and the place of an English question by its words.

    Signs for one intent add up like independent ones (noisy or), and the runner-up takes half of
    its own from the winner. `today` is what "last year" is counted from, by default today in UTC.
    """
    if len(question) > LONGEST:
        return Reading("general", 0.0, None, None, None)
    names = _names(question)
    found = _period(question, names, today or datetime.now(UTC).date())
    intent, confidence = _intent(_masked(question, names, found))
    return Reading(
        intent,
        confidence,
        found.words if found else None,
        found.period if found else None,
        _place(question, names),
    )


def _intent(masked: str) -> tuple[Intent, float]:
    """The likeliest intent and how sure it is; of equals the first in their order."""
    against: dict[Intent, float] = defaultdict(lambda: 1.0)
    for intent, weight, pattern in PATTERNS:
        if pattern.search(masked):
            against[intent] *= 1 - weight
    order = sorted(get_args(Intent), key=lambda intent: against[intent])
    best, second = (1 - against[intent] for intent in order[:2])
    confidence = round(best * (1 - second / 2), 2)
    return order[0] if confidence >= LEAST_CONFIDENCE else "general", confidence


def _names(question: str) -> list[NameSpan]:
    """The names of a question, without the word that opens it, and known places in lower case."""
    if question.islower():
        return [NameSpan(m[0], *m.span(), 0.5) for m in _LOWER_PLACE.finditer(question)]
    return [
        span
        for span in name_spans(question)
        if span.start > 0 or span.confidence > UNSURE or _known(span)
    ]


def _period(question: str, names: Sequence[NameSpan], today: date) -> PeriodFound | None:
    """The period a question asks about: neither a part of a name nor the year of a film."""
    found = find_period(question, today=today)
    if not found or _DIGITS.fullmatch(found.words):
        return None
    start, end = found.start, found.start + len(found.words)
    within = any(
        n.start < end and start < n.end and not start <= n.start <= n.end <= end for n in names
    )
    return None if within else found


def _masked(question: str, names: Sequence[NameSpan], time: PeriodFound | None) -> str:
    """The question in lower case, with capitals for its names, known places and period."""
    parts = [(n.start, n.end, "PLACE" if _known(n) else "NAME") for n in names]
    if time:
        end = time.start + len(time.words)
        parts = [part for part in parts if part[1] <= time.start or end <= part[0]]
        parts.append((time.start, end, "TIME"))
    text, at = "", 0
    for start, end, mask in sorted(parts):
        if start >= at:
            text, at = text + question[at:start].lower() + mask, end
    text += question[at:].lower()
    return " ".join(text.replace("’", "'").split()).rstrip(" ?!.")


def _place(question: str, names: Sequence[NameSpan]) -> str | None:
    """The first name that is known for a place, else the first after a word like "in"."""
    placed = [name for name in names if _LOCATIVE.search(question[: name.start])]
    return next((name.name for name in [*filter(_known, names), *placed]), None)


def _known(name: NameSpan) -> bool:
    return normalise(name.name) in PLACES
