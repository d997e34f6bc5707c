"""What a caller of the retrieval graph may ask."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "MAX_PASSAGE",
    "MAX_QUESTION",
    "MAX_TURNS",
    "FilterInput",
    "RetrievalInput",
    "Turn",
]

MAX_QUESTION = 10_000
"""Characters. A longer text is not a question; the encoder reads far less anyway."""
MAX_PASSAGE = 50_000
"""Characters of a text whose connections are asked for."""
MAX_TURNS = 20
"""Of a conversation; earlier ones say little about what a question means."""


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
    exclude: list[str] = Field(
        default_factory=list, description="Ids of documents that are left out."
    )


class Turn(BaseModel):
    """What was said before the question."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    content: str


class RetrievalInput(BaseModel):
    """A question, or a text whose connections are wanted; and where to look."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field("", description="What to find passages for, in the user's own words.")
    passage: str = Field(
        "",
        description="Instead of a question: a text, such as a story being written or a "
        "conversation so far. What is connected with it is found, without the text itself.",
    )
    document_id: str = Field(
        "",
        description="A stored document: by itself its connections are found, without its own "
        "passages; beside a question it is where a general question starts from.",
    )
    history: list[Turn] = Field(
        default_factory=list,
        description="The conversation before the question, oldest turn first; the last turns "
        "tell whom `she` means.",
    )
    namespaces: list[str] = Field(
        default_factory=list, description="Where to look; empty: the configured default."
    )
    filters: FilterInput = Field(default_factory=FilterInput)
