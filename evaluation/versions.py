"""What made the answers: everything that could explain why two reports differ."""

from __future__ import annotations

import pkgutil
import platform
import subprocess
from collections.abc import Iterator, Mapping
from hashlib import file_digest
from importlib import import_module
from pathlib import Path
from typing import Any

from .. import __version__, prompts
from ..prompts.template import Prompt
from ..services import Services
from ..stores.postgres.schema import LATEST

__all__ = ["changes", "digest", "versions"]

ROOT = Path(__file__).parents[1]


def versions(services: Services) -> dict[str, Any]:
    """Versions of code, prompts, models and schema, and the settings that decide what is found."""
    settings, embedder = services.settings, services.embedder
    return {
        "clew": __version__,
        "revision": _revision(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "prompts": dict(_prompts()),
        "embedding": {"model": embedder.name, "dimension": embedder.dimension},
        "reranker": settings.reranker_model,
        "chat": settings.chat_model,
        "schema": LATEST,
        "curated": services.recognizer.digest[:12],
        **settings.model_dump(
            mode="json",
            include={
                "ef_search",
                "graph_store",
                "language",
                "chunk_tokens",
                "chunk_overlap",
                "sections",
            },
        ),
    }


def digest(path: Path) -> str:
    """The beginning of a file's SHA-256."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:12]


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What differs, by dotted name: (name, before, after)."""
    old, new = dict(_flat(before)), dict(_flat(after))
    return [
        (name, str(old.get(name, "–")), str(new.get(name, "–")))
        for name in dict.fromkeys((*old, *new))
        if old.get(name, "–") != new.get(name, "–")
    ]


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _prompts() -> Iterator[tuple[str, int]]:
    for module in pkgutil.iter_modules(prompts.__path__, f"{prompts.__name__}."):
        prompt = getattr(import_module(module.name), "PROMPT", None)
        if isinstance(prompt, Prompt):
            yield prompt.name, prompt.version


def _revision() -> str | None:
    """The commit of a checkout, with "-dirty" when files differ from it; else nothing."""
    if not (ROOT / ".git").exists():
        return None
    command = ["git", "--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        done = subprocess.run(
            [*command, "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):  # a report without it is still a report
        return None
    return done.stdout.strip() or None
