"""What flows through the ingestion graph."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any

from langgraph.channels import EphemeralValue
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from ..stores.records import DocumentDraft
from .steps import Degradation, StepTime

__all__ = [
    "Asked",
    "BackfillInput",
    "BackfillState",
    "BackfillUpdate",
    "Cursor",
    "Encoded",
    "GraphInput",
    "IngestionInput",
    "IngestionOutput",
    "IngestionState",
    "IngestionUpdate",
    "Skipped",
    "SourceDocument",
]


_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
_Triple = Annotated[list[_Name], Field(min_length=3, max_length=3)]


class GraphInput(BaseModel):
    """The entities and relations of a document, found by somebody else."""

    model_config = ConfigDict(extra="forbid")

    entities: list[_Name] = Field(default_factory=list, max_length=10_000)
    triples: list[_Triple] = Field(
        default_factory=list, max_length=10_000, description="[subject, predicate, object] each."
    )


class SourceDocument(BaseModel):
    """A document handed over as text instead of as a file."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1, max_length=1000)
    text: str
    title: str = ""
    category: str | None = None
    date: str | None = Field(None, pattern=r"^\d{4}-\d\d-\d\d$")
    metadata: dict[str, Any] = Field(default_factory=dict)
    acl: list[str] | None = Field(
        None, min_length=1, description="Who may read it; unset: the run's access list."
    )
    graph: GraphInput | None = Field(
        None, description="Taken instead of the names and relations that Clew would find."
    )


class IngestionInput(BaseModel):
    """What to take in, and into which namespace."""

    model_config = ConfigDict(extra="forbid")

    paths: list[str] = Field(
        default_factory=list, description="Markdown, text or JSONL files, or folders of them."
    )
    documents: list[SourceDocument] = Field(default_factory=list)
    namespace: str = Field("", description="Empty: the configured default.")
    acl: list[str] = Field(
        default_factory=lambda: ["public"], min_length=1, description="Who may read them."
    )
    skip_malformed: bool = Field(
        False, description="Leave malformed documents out, and say so, instead of refusing."
    )
    sections: bool | None = Field(
        None, description="Store sections for two-tier retrieval; unset: as configured."
    )


class Skipped(TypedDict):
    """A source that was left out, and why."""

    source: str
    reason: str


class Encoded(TypedDict):
    """How many chunks of one batch were embedded, and in how long; and how many sections."""

    chunks: int
    ms: float
    sections: int


class Asked(TypedDict):
    """What one question to a language model took; `money` in US dollars, none if not known."""

    failed: bool
    input_tokens: int
    output_tokens: int
    money: float | None


class Cursor(TypedDict):
    """How far the sources have been read: which one, and the byte (file) or item within it."""

    source: int
    offset: int
    line: int


class IngestionState(TypedDict, total=False):
    """A run takes its sources in batch by batch.

    `batch` is being read and embedded, while `ready`, the one before, is being written.
    """

    paths: Annotated[list[str], EphemeralValue]
    documents: Annotated[list[dict[str, Any]], EphemeralValue]
    namespace: Annotated[str, EphemeralValue]
    acl: Annotated[list[str], EphemeralValue]
    skip_malformed: Annotated[bool, EphemeralValue]
    sections: Annotated[bool | None, EphemeralValue]

    target: str
    default_acl: list[str]
    lenient: bool
    sectioned: bool
    sources: list[dict[str, Any]]
    total: int
    cursor: Cursor
    exhausted: bool
    batch: list[DocumentDraft]
    ready: list[DocumentDraft]
    written: Annotated[list[str], add]
    replaced: Annotated[list[str], add]
    unchanged: Annotated[list[str], add]
    skipped: Annotated[list[Skipped], add]
    encoded: Annotated[list[Encoded], add]
    asked: Annotated[list[Asked], add]
    unfinished: Annotated[list[Skipped], add]
    """Documents that a language model has yet to read, and why it did not."""
    degraded: Annotated[list[Degradation], add]
    steps: Annotated[list[StepTime], add]
    report: dict[str, Any]


IngestionUpdate = IngestionState


class BackfillInput(TypedDict):
    """Of which namespace the documents are read again."""

    target: str
    every: bool
    """Also those that were complete before a language model was asked, or another one was."""
    limit: int | None
    """How many at most; none: all."""


class BackfillState(IngestionState, total=False):
    """A backfill goes through the documents that wait, in the order of their keys."""

    every: bool
    limit: int | None
    waiting: list[str]


BackfillUpdate = BackfillState


class IngestionOutput(TypedDict):
    """What landed, what was left out and why, how long it took."""

    report: dict[str, Any]
