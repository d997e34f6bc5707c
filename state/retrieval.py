"""What flows through the retrieval graph."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any, Literal

from langchain_core.documents import Document
from langgraph.channels import EphemeralValue
from typing_extensions import TypedDict

from ..models.ledger import ModelCall
from ..prompts.understand_question import Intent
from ..stores.records import Filters, LinkedEntity, Passage, ReachedEntity
from .steps import Degradation, StepTime

__all__ = [
    "Candidate",
    "CrossReading",
    "EntityPassage",
    "LinkTrail",
    "MapEdge",
    "MentionFound",
    "Period",
    "Plan",
    "RankedPassage",
    "Request",
    "RetrievalOutput",
    "RetrievalState",
    "RetrievalUpdate",
    "SearchHit",
    "Signals",
    "Standing",
    "SynonymTried",
    "Traversal",
    "Understanding",
]


class Request(TypedDict):
    """The validated question of this run.

    `question`: what the run is about, which is the passage or the document's text when no question
    was asked (`discover`). `words`: what BM25 looks for. `document_id`: where a general question
    starts from, or empty. `versions`: of the indexes of `namespaces`, in their order, as the run
    began.
    """

    question: str
    words: str
    discover: bool
    document_id: str
    history: list[dict[str, str]]
    namespaces: list[str]
    versions: list[int]
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


class Period(TypedDict):
    """From one ISO date to another, inclusive; none is open."""

    date_from: str | None
    date_to: str | None


class Understanding(TypedDict):
    """What the question asks about, and which rung said so.

    `confidence` in [0, 1] is that of the intent, which is `general` below a half. `time` and
    `place` are the question's words; `period` is what `time` means.
    """

    rung: Literal["llm", "lexical"]
    intent: Intent
    confidence: float
    mentions: list[MentionFound]
    time: str | None
    period: Period | None
    place: str | None


class Traversal(TypedDict):
    """How the graph is walked: what the caller set, else the persona, else the intent, else 1 hop.

    `relation_weights` and `default_weight`: factors in [0, 1]. `relax`: when nothing is reached in
    the period, walk without it; the caller's own dates are never relaxed. `passages`: how many may
    come through entities. `crosses`: names known in several namespaces lead from one to the other.
    `why`: what each differs from the default for, for people.
    """

    intent: Intent
    persona: str
    hops: int
    entity_limit: int
    relation_weights: dict[str, float]
    default_weight: float
    date_from: str | None
    date_to: str | None
    relax: bool
    crosses: bool
    passages: int
    why: list[str]


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
    counts: list[int]
    """How often each of `matched` is mentioned here, in their order."""
    subjects: list[int]
    """Those of `matched` that this passage is about."""


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
    """A passage that led to this one, and through which entity.

    `strength`: the source's first-stage score times that of the link, in [0, 1].
    """

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


class Standing(TypedDict):
    """Where one stage put a passage: its place, from 1, and the score it got there."""

    rank: int
    score: float


class RankedPassage(TypedDict):
    """A passage with everything that put it where it stands."""

    passage: Passage
    score: float
    signals: Signals
    stages: dict[str, Standing]
    """By stage, in their order; a stage that did not see the passage is absent."""
    strategy: str | None
    """What made the score of the signals; none while only the first stage has."""
    scaled: dict[str, float]
    """What the strategy made of each signal: its z-score, for one."""
    weights: dict[str, float]
    contributions: dict[str, float]
    """What each signal added, scaled × weight; their sum is the score."""
    matched: list[int]
    links: list[LinkTrail]
    reranker: float | None


class CrossReading(TypedDict):
    """What the cross-encoder said of the first passages, in their order, and why not of all.

    `key` identifies the question and the passages it was given.
    """

    key: str
    scores: list[float]
    lost: str | None


class MapEdge(TypedDict):
    """One line of the relationship map."""

    source: str
    type: str
    target: str
    weight: float
    evidence: list[int]


class RetrievalState(TypedDict, total=False):
    """Everything a run knows. The inputs last one step; admit turns them into `request`."""

    question: Annotated[str, EphemeralValue]
    passage: Annotated[str, EphemeralValue]
    document_id: Annotated[str, EphemeralValue]
    history: Annotated[list[dict[str, str]], EphemeralValue]
    namespaces: Annotated[list[str], EphemeralValue]
    filters: Annotated[dict[str, Any], EphemeralValue]

    request: Request
    plan: Plan
    understanding: Understanding | None
    traversal: Traversal
    embedded: bool
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
    reading: CrossReading | None
    relationships: list[MapEdge]
    context: str
    documents: list[Document]
    calls: Annotated[list[ModelCall], add]
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
