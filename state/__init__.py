"""What flows through the two graphs: inputs, states, outputs and how parallel updates join.

Everything is plain JSON, since a checkpointer may store it after every step.
"""

from __future__ import annotations

from .ingestion import (
    Cursor,
    Encoded,
    IngestionInput,
    IngestionOutput,
    IngestionState,
    IngestionUpdate,
    Skipped,
    SourceDocument,
)
from .retrieval import (
    MAX_QUESTION,
    Candidate,
    EntityPassage,
    FilterInput,
    LinkTrail,
    MapEdge,
    MentionFound,
    Plan,
    RankedPassage,
    Request,
    RetrievalInput,
    RetrievalOutput,
    RetrievalState,
    RetrievalUpdate,
    SearchHit,
    Signals,
    Standing,
    SynonymTried,
    Understanding,
)
from .steps import Degradation, StepTime

__all__ = [
    "MAX_QUESTION",
    "Candidate",
    "Cursor",
    "Degradation",
    "Encoded",
    "EntityPassage",
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
    "Standing",
    "StepTime",
    "SynonymTried",
    "Understanding",
]
