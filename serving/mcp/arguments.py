"""What each tool takes. Nothing here says who is asking: a client's arguments cannot."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ...state import MAX_PASSAGE, MAX_QUESTION, FilterInput, Turn
from ...stores.paths import MOST_HOPS

__all__ = ["Connect", "Discover", "Retrieve"]


def _parsed(value: Any) -> Any:
    """Some desktop clients write lists and objects as JSON inside a string."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


Namespaces = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]],
    BeforeValidator(_parsed),
    Field(max_length=20, description="Where to look; empty: where this server looks by itself."),
]
TopK = Annotated[
    Annotated[int, Field(ge=1, le=100)] | None,
    Field(description="Passages returned; unset: 10, or what the server was started with."),
]
Name = Annotated[str, Field(min_length=1, max_length=500)]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Retrieve(_Arguments):
    """A question."""

    question: str = Field(
        min_length=1,
        max_length=MAX_QUESTION,
        description="What to find passages for: one whole question in the user's own words, "
        "with the names in it.",
    )
    history: Annotated[list[Turn], BeforeValidator(_parsed)] = Field(
        default_factory=list,
        max_length=100,
        description="The conversation before the question, oldest turn first; the last turns "
        "tell whom `she` means.",
    )
    namespaces: Namespaces = Field(default_factory=list)
    filters: Annotated[FilterInput, BeforeValidator(_parsed)] = Field(
        default_factory=FilterInput, description="Conditions on the passages' documents."
    )
    top_k: TopK = None


class Discover(_Arguments):
    """A text, or a stored document."""

    passage: str = Field(
        "",
        max_length=MAX_PASSAGE,
        description="A text, such as a draft or a conversation so far.",
    )
    document_id: str = Field(
        "",
        max_length=2000,
        description="A stored document: instead of a passage, or the one it comes from.",
    )
    namespaces: Namespaces = Field(default_factory=list)
    top_k: TopK = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.passage.strip() and not self.document_id:
            raise ValueError("There is nothing to discover from; give a passage or a document_id")
        return self


class Connect(_Arguments):
    """Two entities."""

    source: Name = Field(description="An entity's name or alias, as the passages write it.")
    target: Name = Field(description="Another's.")
    hops: int = Field(4, ge=1, le=MOST_HOPS, description="Relations on the way at most.")
    namespaces: Namespaces = Field(default_factory=list)
