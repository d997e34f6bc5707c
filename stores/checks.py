"""What no store takes, said before anything is written."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from .errors import InvalidInput
from .records import DocumentDraft

__all__ = ["check_draft", "iso_date", "label", "storable"]

LABEL = re.compile(r"[^\W\d_][\w .:&/+-]{0,99}")
"""Types of entities and relations: a letter, then letters, digits and a little punctuation."""


def storable(text: str) -> str:
    """The text. Raises `InvalidInput` on a null byte or half of a surrogate pair."""
    if "\x00" in text:
        raise InvalidInput("The text contains a null byte; remove it.")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput("The text contains half a surrogate pair; remove it.") from error
    return text


def label(text: str) -> str:
    """A type as it is. Raises `InvalidInput` on one with odd characters."""
    if not LABEL.fullmatch(text):
        raise InvalidInput(
            f"{text!r} cannot be the type of an entity or relation; use a letter, then at most "
            "99 letters, digits, spaces or any of _ . : & / + -"
        )
    return text


def iso_date(day: str) -> str:
    """A date as YYYY-MM-DD, which sorts as text. Raises `InvalidInput` on anything else."""
    try:
        right = date.fromisoformat(day).isoformat() == day
    except ValueError:
        right = False
    if not right:
        raise InvalidInput(f"{day!r} is not a date; write YYYY-MM-DD.")
    return day


def check_draft(draft: DocumentDraft) -> None:
    """Refuse texts, numbers and values that a database could not keep. Raises `InvalidInput`."""
    for text in _texts(draft):
        storable(text)
    if draft["date"] is not None:
        iso_date(draft["date"])
    _keepable(draft["metadata"])
    sections = draft.get("sections", [])
    _numbered("chunks", [chunk["index"] for chunk in draft["chunks"]])
    _numbered("sections", [section["index"] for section in sections])
    for section in sections:
        if section["span_end"] < section["span_start"]:
            raise InvalidInput(
                f"Section {section['index']} ends before it starts; swap the ends of its span."
            )
    for entity in draft["entities"]:
        label(entity["type"])
        _keepable(entity["properties"])
        if not 0 <= entity["confidence"] <= 1:
            raise InvalidInput(
                f"The entity {entity['name']!r} has confidence {entity['confidence']}; "
                "it must lie in [0, 1]."
            )
    for relation in draft["relationships"]:
        label(relation["type"])
        if not 0 < relation["confidence"] <= 1:
            raise InvalidInput(
                f"The relation {relation['type']} has confidence {relation['confidence']}; "
                "it must lie in (0, 1]."
            )


def _numbered(what: str, indexes: Sequence[int]) -> None:
    twice = [index for index, count in Counter(indexes).items() if count > 1]
    if twice:
        raise InvalidInput(f"Two {what} have the index {twice[0]}; number them anew.")


def _texts(draft: DocumentDraft) -> Iterator[str]:
    yield from (draft["key"], draft["title"], draft["source"], draft["text"], draft["content_hash"])
    yield draft["category"] or ""
    yield from draft["acl"]
    for chunk in draft["chunks"]:
        yield from (chunk["header"], chunk["text"])
        yield from (mention["name"] for mention in chunk["mentions"])
    yield from (section["text"] for section in draft.get("sections", []))
    for entity in draft["entities"]:
        yield from (entity["name"], *entity["aliases"])


def _keepable(value: Mapping[str, Any]) -> None:
    """Refuse what a database cannot keep as JSON."""
    for text in _strings(value):
        storable(text)
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise InvalidInput("The metadata holds a number that is none; remove it.") from error


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)
