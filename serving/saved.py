"""Runs kept as files, with everything a language model said, so that they can be repeated."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.types import Overwrite
from pydantic import BaseModel, ConfigDict, ValidationError

from ..context import RetrievalContext
from ..models.ledger import ModelCall
from ..models.replay import ReplayedChat, ReplayedReranker
from ..models.reranker import Reading
from ..services import Services
from ..settings import Settings
from ..state import CrossReading
from ..stores.errors import InvalidInput

__all__ = ["SavedRun", "load_run", "replaying", "save_run"]


class Returned(BaseModel):
    """A passage of the answer, and its score to six decimals."""

    model_config = ConfigDict(extra="forbid")

    id: str
    score: float


class SavedRun(BaseModel):
    """A run: what was asked, as whom and how, what models said, what each step wrote, and what
    came back.

    `versions` are those of the indexes it asked. `supersteps`: by node, what the steps wrote into
    the state; those in one entry ran side by side. `model` and `reranker` are none when there was
    no language model and no cross-encoder; `unread`: why the latter gave no reading.
    """

    model_config = ConfigDict(extra="forbid")

    id: str
    at: datetime
    asked: dict[str, Any]
    context: dict[str, Any]
    principals: list[str]
    model: str | None
    versions: dict[str, int]
    calls: list[ModelCall]
    reranker: str | None
    reading: CrossReading | None
    unread: str | None
    supersteps: list[dict[str, dict[str, Any]]]
    returned: list[Returned]

    @property
    def settings(self) -> RetrievalContext:
        """What the run had set."""
        return RetrievalContext.model_validate(self.context)

    def until(self, node: str) -> list[dict[str, dict[str, Any]]]:
        """What was written before a node ran for the first time. Raises `InvalidInput`."""
        places = [place for place, ran in enumerate(self.supersteps) if node in ran]
        if not places:
            ran = ", ".join(dict.fromkeys(name for step in self.supersteps for name in step))
            raise InvalidInput(f"The saved run {self.id} did not come to {node!r}; it ran {ran}.")
        return self.supersteps[: places[0]]

    def changes(self, state: Mapping[str, Any]) -> list[str]:
        """In which namespaces something has changed since, in sentences."""
        request = state["request"]
        now = dict(zip(request["namespaces"], request["versions"], strict=True))
        return [
            f"The namespace {name!r} has changed since: it was at version {version} and is at "
            f"{now.get(name)}."
            for name, version in self.versions.items()
            if now.get(name) != version
        ]

    def verdict(self, state: Mapping[str, Any]) -> str:
        """Whether a repetition came to the same, in a sentence."""
        before, after = self.returned, _returned(state)
        if [one.id for one in before] != [one.id for one in after]:
            return "It returned other passages, or in another order."
        if before != after:
            return "It returned the same passages with other scores."
        return "It came to the same passages and scores."


def save_run(
    supersteps: Sequence[Mapping[str, Mapping[str, Any]]],
    state: Mapping[str, Any],
    asked: Mapping[str, Any],
    context: RetrievalContext,
    principals: list[str],
    settings: Settings,
) -> SavedRun:
    """Keep a run that ended in `state` below the data folder, readable by its owner only."""
    request = state["request"]
    run = SavedRun(
        id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
        at=datetime.now(UTC),
        asked=dict(asked),
        context=context.model_dump(mode="json", exclude_unset=True),
        principals=principals,
        model=settings.chat_model,
        versions=dict(zip(request["namespaces"], request["versions"], strict=True)),
        calls=state["calls"],
        reranker=settings.reranker_model,
        reading=state["reading"],
        unread=next(
            (one["reason"] for one in state["degraded"] if one["stage"] == "rerank_passages"), None
        ),
        supersteps=[
            {node: _plain(update) for node, update in superstep.items()} for superstep in supersteps
        ],
        returned=_returned(state),
    )
    folder = _folder(settings)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run.id}.json"
    path.touch(mode=0o600)
    path.write_text(run.model_dump_json(indent=2), encoding="utf-8")
    return run


def load_run(name: str, settings: Settings) -> SavedRun:
    """The run with that id, or in that file. Raises `InvalidInput`."""
    paths = [Path(name), _folder(settings) / f"{name}.json"]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise InvalidInput(
            f"There is no saved run {name!r} in {_folder(settings)}; save one with "
            "`clew trace --save`."
        )
    try:
        return SavedRun.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{path} is not a run that this version of Clew saved; save it anew with "
            "`clew trace --save`."
        ) from error


def replaying(services: Services, run: SavedRun) -> Services:
    """The same services, with what was saved in place of the models that said it."""
    chat = None if run.model is None else ReplayedChat(run.calls)
    return replace(services, chat=chat, reranker=_reranker(run))


def _reranker(run: SavedRun) -> ReplayedReranker | None:
    if run.reranker is None:
        return None
    if run.reading is not None:
        reading = Reading(run.reading["scores"], run.reading["lost"])
        return ReplayedReranker(run.reranker, run.reading["key"], reading, None)
    # Without a reading and a reason there was nothing to read, and nobody will ask.
    return ReplayedReranker(run.reranker, "", Reading([], None), run.unread)


def _plain(update: Mapping[str, Any]) -> dict[str, Any]:
    """An update as JSON will have it: on a new thread there is nothing that it would overwrite."""
    return {
        key: value.value if isinstance(value, Overwrite) else value for key, value in update.items()
    }


def _returned(state: Mapping[str, Any]) -> list[Returned]:
    return [
        Returned(id=str(document.id), score=document.metadata["score"])
        for document in state["documents"]
    ]


def _folder(settings: Settings) -> Path:
    return settings.data_dir / "runs"
