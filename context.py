"""What one run may set. Every number is bounded, and shown with its help in Studio."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from .prompts.understand_question import Intent

__all__ = ["FOR_A_TEXT", "FusionWeights", "RetrievalContext"]

ISO_DATE = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"

FOR_A_TEXT = {"budget_ms": 5000, "search_ms": 2000}
"""What a door sets for a text unless told otherwise: it takes longer to read than a question."""


class FusionWeights(BaseModel):
    """How much each signal counts in the fused score, on per-question z-scores."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dense: float = Field(0.43, ge=0, le=2, description="Cosine of question and passage.")
    bm25: float = Field(0.34, ge=0, le=2, description="BM25 of the question's words.")
    graph: float = Field(0.49, ge=0, le=2, description="Personalised PageRank of the passage.")
    title: float = Field(0.27, ge=0, le=2, description="The passage is about a named entity.")
    titled: float = Field(0.35, ge=0, le=2, description="A good passage mentions its subject.")
    link: float = Field(0.38, ge=0, le=2, description="Best link of any kind from a good passage.")


class RetrievalContext(BaseModel):
    """Per-run configuration of the retrieval graph."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["hybrid", "search_only"] = Field(
        "hybrid", description="search_only leaves the knowledge graph out."
    )
    top_k: int = Field(10, ge=1, le=100, description="Passages returned.")
    persona: str = Field(
        "neutral",
        description="Who reads: a name in personas.yaml, which sets how the graph is walked.",
    )
    intent: Intent | None = Field(
        None, description="What kind of connection is asked for; unset: read off the question."
    )
    cross_namespace: bool | None = Field(
        None,
        description="Follow names from one of the namespaces asked into another; unset: when the "
        "question is about that and the persona may. False asks only the first namespace.",
    )

    search_candidates: int = Field(
        100, ge=10, le=1000, description="Hits taken from vector search and from BM25, each."
    )
    two_tier: bool = Field(
        False, description="Search sections first, then by meaning only the passages inside them."
    )
    node_top_k: int = Field(
        20, ge=1, le=200, description="Sections whose passages a two-tier search compares."
    )
    rrf_k: int = Field(60, ge=1, le=1000, description="The constant of reciprocal rank fusion.")

    extraction: Literal["auto", "llm", "lexical"] = Field(
        "auto", description="auto: the LLM when one is configured, else the lexical rung."
    )
    graph_expansion_hops: int = Field(1, ge=1, le=3, description="Facts: 1. Stories: 2 or 3.")
    graph_entity_limit: int = Field(
        200, ge=10, le=2000, description="Entities the walk may return."
    )
    anchor_passages: int = Field(
        20, ge=0, le=100, description="Best search hits whose entities join the seeds."
    )
    relation_weights: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict, description="Factor in [0, 1] a relation type; 0 closes it."
    )
    default_relation_weight: float = Field(
        1.0, ge=0, le=1, description="Factor of every relation type not named."
    )
    relations_from: str | None = Field(
        None,
        pattern=ISO_DATE,
        description="Walk only relations seen on or after this date (YYYY-MM-DD).",
    )
    relations_to: str | None = Field(
        None, pattern=ISO_DATE, description="Walk only relations seen on or before this date."
    )
    on_graph_failure: Literal["search_only", "postgres"] = Field(
        "search_only",
        description="When the graph's copy is out: leave the graph out, or walk the record.",
    )
    graph_min_entities_threshold: int = Field(
        10, ge=5, le=20, description="Fewer expanded entities than this count as sparse."
    )
    synonyms: Literal["off", "no_seeds", "sparse"] = Field(
        "sparse", description="When to ask the LLM for synonyms; needs a configured LLM."
    )
    graph_max_synonyms_per_entity: int = Field(3, ge=1, le=5)
    synonym_min_cosine: float = Field(
        0.7, ge=0, le=1, description="A synonym further from its seed has drifted; it is dropped."
    )
    synonym_discount: float = Field(
        0.5, gt=0, le=1, description="Factor on the score of an entity linked through a synonym."
    )
    graph_semantic_reranking_enabled: bool = Field(
        True, description="Order the entities by meaning before fetching their passages."
    )
    entity_order: Literal["fused", "idf", "count"] = Field(
        "fused", description="Rank passages of entities by PageRank, by rarity, or by count."
    )
    entity_passages: int = Field(
        100, ge=10, le=2000, description="Passages drawn in through entities."
    )

    strategy: Literal["fused", "rrf", "additive"] = Field(
        "fused", description="How signals become one score."
    )
    weights: FusionWeights = Field(default_factory=FusionWeights)
    link_passages: int = Field(
        15, ge=0, le=50, description="Best passages whose links are followed; 0 turns links off."
    )
    link_max_df: int = Field(
        15, ge=2, le=100, description="An entity in more chunks than this joins no passages."
    )
    rerank_candidates: int = Field(
        20, ge=0, le=100, description="Passages the cross-encoder reads; 0 turns it off."
    )
    rerank_ms: int = Field(
        200,
        ge=10,
        le=60_000,
        description="When reading them takes longer, the next runs read half as many, and when "
        "that does too, none; after half a minute all are tried again.",
    )

    passage_min_cosine: float = Field(
        0.5,
        ge=0,
        le=1,
        description="A passage with fewer than 3 known entities borrows those at least this near.",
    )
    token_budget: int = Field(4000, ge=200, le=100_000, description="Size of the context.")
    map_tokens: int = Field(200, ge=0, le=2000, description="Of which for the relationship map.")
    stitch_reach: int = Field(
        1, ge=0, le=5, description="Chunks before and after that may be stitched to a passage."
    )

    caches: bool = Field(
        True, description="Whether what was lately looked up or answered may be used again."
    )
    budget_ms: int = Field(2000, ge=100, le=60_000, description="Ceiling of the whole run.")
    llm_ms: int = Field(500, ge=50, le=60_000, description="Ceiling of one LLM step.")
    graph_ms: int = Field(300, ge=10, le=60_000, description="Ceiling of one graph step.")
    search_ms: int = Field(500, ge=10, le=60_000, description="Ceiling of the passage search.")
