"""What flows through the two graphs: inputs, states, outputs and how parallel updates join.

Everything is plain JSON, since a checkpointer may store it after every step.
"""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, Literal

from langchain_core.documents import Document
from langgraph.channels import EphemeralValue
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from .stores.records import (
    DocumentDraft,
    Filters,
    LinkedEntity,
    Passage,
    ReachedEntity,
)

__all__ = [
    "MAX_QUESTION",
    "Candidate",
    "Degradation",
    "EntityPassage",
    "Encoded",
    "FilterInput",
    "IngestionInput",
    "IngestionOutput",
    "IngestionState",
    "IngestionUpdate",
    "LinkTrail",
    "MapEdge",
    "MentionFound",
    "Plan",
    "RankedPassage",
    "Request",
    "RetrievalInput",
    "RetrievalOutput",
    "RetrievalState",
    "RetrievalUpdate",
    "SearchHit",
    "Signals",
    "Skipped",
    "SourceDocument",
    "StepTime",
    "SynonymTried",
    "Understanding",
]

MAX_QUESTION = 10_000
"""Characters. A longer text is not a question; the encoder reads far less anyway."""


# ── retrieval ────────────────────────────────────────────────────────────────────────────────


class FilterInput(BaseModel):
    """Conditions on documents; every one given must hold."""

    model_config = ConfigDict(extra="forbid")

    category: list[str] = Field(default_factory=list, description="Any of these categories.")
    date_from: str | None = Field(
        None, pattern=r"^\d{4}-\d\d-\d\d$", description="ISO date, inclusive."
    )
    date_to: str | None = Field(
        None, pattern=r"^\d{4}-\d\d-\d\d$", description="ISO date, inclusive."
    )
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="What the document's metadata must contain."
    )


class RetrievalInput(BaseModel):
    """A question, and where to look for its answer."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(description="What to find passages for, in the user's own words.")
    namespaces: list[str] = Field(
        default_factory=list, description="Where to look; empty: the configured default."
    )
    filters: FilterInput = Field(default_factory=FilterInput)


class Request(TypedDict):
    """The validated question of this run."""

    question: str
    namespaces: list[str]
    filters: Filters


class Plan(TypedDict):
    """Which way the run goes, decided once, and why."""

    mode: Literal["hybrid", "search_only"]
    reason: str


class MentionFound(TypedDict):
    """Words of the question that may name an entity.

    `span`: they look like a name; `ngram`: they might be one; `llm`: the model took them for one.
    """

    text: str
    kind: Literal["span", "ngram", "llm"]


class Understanding(TypedDict):
    """What the question asks about, and which rung said so."""

    rung: Literal["llm", "lexical"]
    intent: str
    mentions: list[MentionFound]
    time: str | None
    place: str | None


class SearchHit(TypedDict):
    """A passage found by search: score and rank (from 1) in each leg that saw it, and their RRF."""

    id: int
    dense: float | None
    dense_rank: int | None
    bm25: float | None
    bm25_rank: int | None
    rrf: float


class EntityPassage(TypedDict):
    """A passage found through entities. `matched`: their ids, the strongest first."""

    id: int
    score: float
    matched: list[int]
    entity_count: int
    walk: float
    """Best walk score among the entities that led here, in (0, 1]."""
    named: bool
    """An entity named in the question is mentioned here."""
    about: bool
    """An entity named in the question is this passage's subject."""


class Signals(TypedDict):
    """Every signal of a passage, raw; 0 where a stage did not see it, ranks from 1 or none."""

    dense: float
    bm25: float
    graph: float
    title: float
    titled: float
    link: float
    walk: float
    named: bool
    dense_rank: int | None
    bm25_rank: int | None
    graph_rank: int | None


class Candidate(TypedDict):
    """A passage in the running, before its text is read. `stage`: first-stage score in [0, 1]."""

    id: int
    signals: Signals
    matched: list[int]
    stage: float


class LinkTrail(TypedDict):
    """A passage that led to this one, and through which entity."""

    source: int
    title: str
    entity: str
    kind: str
    strength: float


class SynonymTried(TypedDict):
    """A synonym the LLM offered, how near it is to its seed, and whether it was kept."""

    seed: str
    text: str
    cosine: float
    kept: bool


class RankedPassage(TypedDict):
    """A passage with everything that put it where it stands."""

    passage: Passage
    score: float
    signals: Signals
    contributions: dict[str, float]
    """What each signal added to the score."""
    matched: list[int]
    links: list[LinkTrail]
    reranker: float | None


class MapEdge(TypedDict):
    """One line of the relationship map."""

    source: str
    type: str
    target: str
    weight: float
    evidence: list[int]


class Degradation(TypedDict):
    """Something the run went without. `failed`: the whole stage has no result."""

    stage: str
    reason: str
    effect: str
    failed: bool


class StepTime(TypedDict):
    """How long one node took."""

    node: str
    ms: float


class RetrievalState(TypedDict, total=False):
    """Everything a run knows. The inputs last one step; admit turns them into `request`."""

    question: Annotated[str, EphemeralValue]
    namespaces: Annotated[list[str], EphemeralValue]
    filters: Annotated[dict[str, Any], EphemeralValue]

    request: Request
    plan: Plan
    understanding: Understanding | None
    hits: list[SearchHit]
    seeds: list[LinkedEntity]
    entities: list[ReachedEntity]
    expanded: bool
    sparse: bool
    synonyms_wanted: bool
    synonyms: list[SynonymTried]
    synonyms_tried: bool
    entity_passages: list[EntityPassage]
    candidates: list[Candidate]
    ranked: list[RankedPassage]
    relationships: list[MapEdge]
    context: str
    documents: list[Document]
    degraded: Annotated[list[Degradation], add]
    steps: Annotated[list[StepTime], add]
    diagnostics: dict[str, Any]


RetrievalUpdate = RetrievalState
"""A node returns the channels it writes, and no others."""


class RetrievalOutput(TypedDict):
    """What the caller gets."""

    context: str
    documents: list[Document]
    entities: list[ReachedEntity]
    relationships: list[MapEdge]
    degraded: list[Degradation]
    diagnostics: dict[str, Any]


# ── ingestion ────────────────────────────────────────────────────────────────────────────────


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


class Skipped(TypedDict):
    """A source that was left out, and why."""

    source: str
    reason: str


class Encoded(TypedDict):
    """How many chunks of one batch were embedded, and in how long."""

    chunks: int
    ms: float


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

    target: str
    default_acl: list[str]
    lenient: bool
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
    degraded: Annotated[list[Degradation], add]
    steps: Annotated[list[StepTime], add]
    report: dict[str, Any]


IngestionUpdate = IngestionState


class IngestionOutput(TypedDict):
    """What landed, what was left out and why, how long it took."""

    report: dict[str, Any]
