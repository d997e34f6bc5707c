"""The first step of ingestion: what is to be read, and whether it can be."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from ...settings import Settings
from ...state import IngestionInput, IngestionUpdate, Skipped
from ...stores.errors import InvalidInput
from ._sources import (
    EXTENSIONS,
    Malformed,
    check,
    fingerprint,
    parse_file,
    parse_row,
    read_lines,
)

__all__ = ["scan"]

_NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{1,63}")


async def scan(
    state: IngestionInput, runtime: Runtime[Any], *, settings: Settings
) -> IngestionUpdate:
    """Resolve what is to be read, and refuse bad input before anything is written.

    Reads: the input. Writes: target, default_acl, lenient, sectioned, sources, total, cursor,
    exhausted, batch, report; empties what the run gathers.
    Raises: InvalidInput.
    """
    target = state.namespace or settings.namespace
    if not _NAMESPACE.fullmatch(target):
        raise InvalidInput(
            f"The namespace {target!r} must be 1 to 63 letters, digits, '_', '.' or '-'."
        )
    if not all(principal.strip() for principal in state.acl):
        raise InvalidInput("The access list must not have an empty entry.")
    scanner = _Scanner(lenient=state.skip_malformed)
    if state.paths and runtime.server_info is not None:
        scanner.root = _root(settings)
    await asyncio.to_thread(scanner.run, state)
    empty: Any = Overwrite([])  # what an earlier run on the thread left would stay otherwise
    skipped: Any = Overwrite(scanner.skipped)
    return {
        "target": target,
        "default_acl": state.acl,
        "lenient": state.skip_malformed,
        "sectioned": settings.sections if state.sections is None else state.sections,
        "sources": scanner.sources,
        "total": sum(source["documents"] for source in scanner.sources),
        "cursor": {"source": 0, "offset": 0, "line": 0},
        "exhausted": False,
        "batch": [],
        "ready": [],
        "written": empty,
        "replaced": empty,
        "unchanged": empty,
        "skipped": skipped,
        "encoded": empty,
        "asked": empty,
        "unfinished": empty,
        "degraded": empty,
        "steps": empty,
        "report": {},
    }


def _root(settings: Settings) -> Path:
    if settings.ingest_root is None:
        raise InvalidInput(
            "This server reads no files: hand the documents over as `documents`, or set "
            "CLEW_INGEST_ROOT to the folder it may read."
        )
    return settings.ingest_root.resolve()


class _Scanner:
    def __init__(self, *, lenient: bool) -> None:
        self.lenient = lenient
        self.root: Path | None = None
        self.sources: list[dict[str, Any]] = []
        self.skipped: list[Skipped] = []
        self._keys: dict[str, str] = {}
        self._files: set[Path] = set()

    def run(self, state: IngestionInput) -> None:
        for document in state.documents:
            try:
                check(document.model_dump())
            except Malformed as error:
                self._malformed(f"document {document.id!r}", str(error))
                continue
            self._claim(document.id, "the given documents")
            self.sources.append(
                {"kind": "inline", "path": "", "key": document.id, "documents": 1,
                 "document": document.model_dump()}
            )  # fmt: skip
        for name in state.paths:
            self._path(name)
        if not self.sources:
            raise InvalidInput(self._nothing(state))

    def _nothing(self, state: IngestionInput) -> str:
        if self.skipped:
            first = self.skipped[0]
            return (
                f"There is nothing to read: {len(self.skipped)} left out, "
                f"the first {first['source']}: {first['reason']}."
            )
        if state.paths:
            return (
                f"There is nothing to read below {', '.join(state.paths)}: "
                "no .md, .markdown, .txt or .jsonl file."
            )
        return "There is nothing to read: give `paths` or `documents`."

    def _path(self, name: str) -> None:
        if not name.strip() or "\x00" in name:
            raise InvalidInput(f"{name!r} is not a path.")
        path = Path(name).expanduser()
        real = path.resolve()
        if self.root is not None and not real.is_relative_to(self.root):
            raise InvalidInput(f"{name} is outside the folder that this server may read.")
        if real.is_dir():
            for file in _files(real):
                self._file(file, file.relative_to(real).as_posix(), named=False)
        elif real.is_file():
            if path.suffix.lower() not in EXTENSIONS:
                known = ", ".join(EXTENSIONS)
                raise InvalidInput(f"{name} cannot be read: only {known} files can.")
            self._file(path, path.name, named=True)
        else:
            raise InvalidInput(f"{name} does not exist.")

    def _file(self, file: Path, key: str, *, named: bool) -> None:
        real = file.resolve()
        if self.root is not None and not real.is_relative_to(self.root):
            self.skipped.append({"source": key, "reason": "it links outside the readable folder"})
            return
        if real in self._files:
            return
        self._files.add(real)
        kind = EXTENSIONS[file.suffix.lower()]
        source: dict[str, Any] = {"kind": kind, "path": str(real), "key": key, "name": key}
        source["documents"] = 1
        try:
            source |= fingerprint(real)
            if kind == "jsonl":
                source["documents"] = self._rows(real, key, named=named)
            else:
                source["key"] = parse_file(real.read_bytes(), key, kind).id
                self._claim(source["key"], key)
        except OSError as error:
            self._left_out(key, f"it cannot be read ({error.strerror})", named=named)
        except Malformed as error:
            if str(error).startswith(("it is", "there is nothing")):
                self._left_out(key, str(error), named=named)
            else:
                self._malformed(key, str(error))
        else:
            if source["documents"]:
                self.sources.append(source)

    def _rows(self, path: Path, name: str, *, named: bool) -> int:
        rows = lines = 0
        for line in read_lines(path):
            lines += 1
            where = f"{name}, line {line.number}"
            try:
                document = parse_row(line.raw)
            except Malformed as error:
                self._malformed(where, str(error))
            else:
                self._claim(document.id, where)
                rows += 1
        if not lines:
            self._left_out(name, "it is empty", named=named)
        return rows

    def _claim(self, key: str, where: str) -> None:
        if key in self._keys:
            raise InvalidInput(
                f"Two documents have the id {key!r}: {self._keys[key]} and {where}. Rename one."
            )
        self._keys[key] = where

    def _left_out(self, name: str, reason: str, *, named: bool) -> None:
        if named:
            raise InvalidInput(f"{name} cannot be taken in: {reason}.")
        self.skipped.append({"source": name, "reason": reason})

    def _malformed(self, name: str, reason: str) -> None:
        if not self.lenient:
            raise InvalidInput(
                f"{name} is malformed: {reason}. Correct it, or set skip_malformed to leave it out."
            )
        self.skipped.append({"source": name, "reason": reason})


def _files(folder: Path) -> Iterator[Path]:
    """The readable files below a folder, hidden ones left out, in a fixed order."""
    found: list[Path] = []
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(where, name)
            for name in files
            if not name.startswith(".") and Path(name).suffix.lower() in EXTENSIONS
        ]
    yield from sorted(found, key=lambda path: path.relative_to(folder).as_posix())
