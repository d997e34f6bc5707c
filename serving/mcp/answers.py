"""What the tools give back: text for a model to read, and the same as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, Field

from ...state import RetrievalOutput
from ...stores.records import PathStep

__all__ = ["Answer", "Connection", "answer_of", "connection_of", "texts_of", "thread_of"]


class Cited(BaseModel):
    """A passage; its text stands in the context, where there was room for it."""

    number: int = Field(description="By which the context cites it.")
    document_id: str
    title: str
    source: str
    namespace: str
    date: str | None
    score: float
    thread: str = Field(description="What led to it.")


class Relation(BaseModel):
    """A line of the relationship map."""

    source: str
    type: str
    target: str


class Lack(BaseModel):
    """Something that the answer went without."""

    stage: str
    reason: str
    effect: str


class Answer(BaseModel):
    """The passages that answer, with the map of their entities."""

    context: str = Field(description="The passages' texts, numbered for citing, and their threads.")
    passages: list[Cited] = Field(description="The best first.")
    relationships: list[Relation]
    degraded: list[Lack] = Field(description="Empty when nothing was missing.")


class Connection(BaseModel):
    """How two entities are connected."""

    connected: bool
    path: list[Relation] = Field(description="From the source to the target.")


def answer_of(output: RetrievalOutput) -> Answer:
    """The graph's output without what only programs of the same process can use."""
    passages = [
        Cited(
            number=document.metadata["rank"],
            thread=document.metadata["trail"]["thread"],
            **{name: document.metadata[name] for name in _COPIED},
        )
        for document in output["documents"]
    ]
    return Answer(
        context=output["context"],
        passages=passages,
        relationships=[Relation.model_validate(edge) for edge in output["relationships"]],
        degraded=[Lack.model_validate(one) for one in output["degraded"]],
    )


_COPIED = ("document_id", "title", "source", "namespace", "date", "score")


def connection_of(path: Sequence[PathStep] | None) -> Connection:
    """A path, or that there is none."""
    steps = [Relation.model_validate(step) for step in path or ()]
    return Connection(connected=path is not None, path=steps)


def texts_of(answer: Answer) -> list[str]:
    """The context, and what the answer lacks if anything."""
    texts = [answer.context or "No passage was found."]
    if answer.degraded:
        texts.append("\n".join(_said(lack) for lack in answer.degraded))
    return texts


def thread_of(connection: Connection, source: str, target: str, hops: int) -> str:
    """The path, one relation a line."""
    if not connection.connected:
        return f"No path of at most {hops} relations from {source} to {target} is known."
    lines = [f"{step.source} —{step.type}→ {step.target}" for step in connection.path]
    return "\n".join(lines) or f"{source} and {target} are the same entity."


def _said(lack: Lack) -> str:
    return f"Left out of this answer: {lack.effect} ({lack.stage}: {lack.reason})"
