"""How a file, or a line of one, is read as a document; `scan` checks with it, `load` reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import ValidationError

from ...state import SourceDocument

__all__ = [
    "EXTENSIONS",
    "Line",
    "Malformed",
    "check",
    "decode",
    "fingerprint",
    "headings",
    "parse_file",
    "parse_row",
    "read_lines",
]

EXTENSIONS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".jsonl": "jsonl"}
_FRONT = re.compile(
    r"---[ \t]*\n(?P<yaml>.*?)(?:\n)?^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_FIELDS = frozenset(SourceDocument.model_fields)
_PARSER = MarkdownIt("commonmark")


class Malformed(Exception):
    """A document that cannot be taken in as it stands; the text says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a JSONL file: its number from 1, where the next begins, and its bytes."""

    number: int
    next_offset: int
    raw: bytes


def fingerprint(path: Path) -> dict[str, int]:
    """What tells that a file is no longer what it was."""
    seen = path.stat()
    return {"size": seen.st_size, "changed": seen.st_mtime_ns}


def decode(raw: bytes) -> str:
    """The text of a file, with plain line ends. Raises `Malformed`."""
    if b"\x00" in raw:
        raise Malformed("it is binary (it has null bytes), not text")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8 text (byte {error.start})") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise Malformed("it is empty")
    return text


def parse_file(raw: bytes, key: str, kind: str) -> SourceDocument:
    """Read a Markdown or text file; front matter may name its id. Raises `Malformed`."""
    text = decode(raw)
    fields: dict[str, Any] = {}
    front = _FRONT.match(text) if kind == "markdown" else None
    if front:
        fields, text = _front_matter(front["yaml"]), text[front.end() :].lstrip("\n")
        if not text.strip():
            raise Malformed("there is nothing after its front matter")
    first = next((name for level, name, _, _ in headings(text) if level == 1), "")
    title = fields.get("title") or (first if kind == "markdown" else "")
    fields["id"] = fields.get("id") or key
    return check(fields | {"text": text, "title": title or Path(key).stem})


def parse_row(line: bytes) -> SourceDocument:
    """Read a JSONL line; unknown fields become metadata. Raises `Malformed`."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Malformed(f"it is not UTF-8 text (byte {error.start})") from error
    except ValueError as error:
        raise Malformed(f"it is not JSON: {error}") from error
    except RecursionError as error:
        raise Malformed("its JSON is nested too deeply") from error
    if not isinstance(row, dict):
        raise Malformed(f"it must be a JSON object with id and text, not {type(row).__name__}")
    return check(_gathered({name: value for name, value in row.items() if value is not None}))


def check(fields: dict[str, Any]) -> SourceDocument:
    """Validate a document's fields. Raises `Malformed`, naming the field."""
    try:
        document = SourceDocument.model_validate(fields, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise Malformed(f"field {name!r}: {first['msg'].lower()}") from error
    if not document.text.strip():
        raise Malformed("field 'text' is empty")
    for name, value in document.model_dump().items():
        for text in _strings(value):
            if "\x00" in text:
                raise Malformed(f"field {name!r} has a null byte")
            if re.search("[\ud800-\udfff]", text):
                raise Malformed(f"field {name!r} has half of a surrogate pair")
    _check_relations(document.metadata)
    return document


def read_lines(path: Path, offset: int = 0, number: int = 0) -> Iterator[Line]:
    """Stream the lines of a JSONL file that are not blank, from a byte offset."""
    with path.open("rb") as file:
        file.seek(offset)
        while raw := file.readline():
            number += 1
            if raw.strip():
                yield Line(number, file.tell(), raw)


def headings(markdown: str) -> list[tuple[int, str, int, int]]:
    """Level, text, first line and line after of each heading that stands outside lists and code."""
    tokens = _PARSER.parse(markdown)
    return [
        (int(token.tag[1]), _plain(inline), token.map[0], token.map[1])
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def _plain(inline: Token) -> str:
    kept = ("text", "code_inline", "softbreak", "image")
    parts = [
        " " if t.type == "softbreak" else t.content for t in inline.children or [] if t.type in kept
    ]
    return " ".join("".join(parts).split())


def _front_matter(source: str) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(source)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark else ""
        raise Malformed(f"its front matter is not YAML{where}") from error
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise Malformed("its front matter must be a list of key: value lines")
    fields = {str(name): _json(value) for name, value in fields.items() if value is not None}
    for name in ("id", "title", "category"):
        if isinstance(fields.get(name), int | float):
            fields[name] = str(fields[name])
    if isinstance(fields.get("acl"), str):
        fields["acl"] = [fields["acl"]]
    fields.pop("text", None)
    return _gathered(fields)


def _gathered(fields: dict[str, Any]) -> dict[str, Any]:
    """Put fields that a document does not have into its metadata."""
    others = {name: value for name, value in fields.items() if name not in _FIELDS}
    if not others:
        return fields
    own = fields.get("metadata", {})
    if not isinstance(own, dict):
        return fields
    return {n: v for n, v in fields.items() if n in _FIELDS} | {"metadata": others | own}


def _json(value: Any) -> Any:
    """YAML knows dates and keys that are no strings; JSON does not."""
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): _json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _strings(name)
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _check_relations(metadata: dict[str, Any]) -> None:
    related = metadata.get("related", [])
    if not isinstance(related, list) or not all(isinstance(name, str) for name in related):
        raise Malformed("field 'related' must be a list of names")
    relations = metadata.get("relations", [])
    if not isinstance(relations, list) or not all(
        isinstance(one, dict)
        and isinstance(one.get("type"), str)
        and isinstance(one.get("target"), str)
        for one in relations
    ):
        raise Malformed("field 'relations' must be a list of {type, target}")
