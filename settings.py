"""The only reader of the environment: every variable is `CLEW_` and a field's name in capitals.

The user's editor stands where every program looks for it.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

__all__ = ["BUNDLED_MODEL", "Price", "Settings", "default_data_dir", "editor", "load_settings"]

BUNDLED_MODEL = "all-MiniLM-L6-v2"
"""The encoder whose weights come with a Python package, so that no hub is needed."""


def default_data_dir() -> Path:
    """Where data goes unless CLEW_DATA_DIR says otherwise."""
    # PostgreSQL refuses to run as root, and its own user cannot enter root's home.
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return Path("/var/lib/clew") if as_root else user_data_path("clew")


def editor() -> str | None:
    """The command of the user's editor, from the variables that every program reads."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or None


class Price(BaseModel):
    """What a chat model costs, in US dollars a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class Settings(BaseSettings):
    """What a process is told once. What a run may choose stands in `RetrievalContext`."""

    model_config = SettingsConfigDict(env_prefix="CLEW_", extra="ignore", frozen=True)

    database_url: SecretStr | None = Field(
        None, description="DSN of a PostgreSQL 16+ with pgvector; unset: the embedded server."
    )
    data_dir: Path = Field(
        default_factory=default_data_dir,
        description="Where the embedded server keeps its data.",
    )
    pool_size: int = Field(10, ge=1, le=200, description="Connections a process may hold.")
    pool_timeout: float = Field(5.0, gt=0, description="Seconds to wait for a free connection.")
    ef_search: int = Field(
        200, ge=10, le=1000, description="HNSW breadth: raise for recall, lower for speed."
    )

    graph_store: Literal["postgres", "neo4j", "neptune"] = Field(
        "postgres",
        description="Where questions walk the graph: the record, or its copy in Neo4j or Neptune.",
    )
    neo4j_uri: str | None = Field(
        None, description="Bolt address of the graph's copy; set: ingestion keeps it true."
    )
    neo4j_user: str = Field("neo4j")
    neo4j_password: SecretStr | None = Field(None, description="Unset: no authentication.")
    neo4j_database: str | None = Field(None, description="Unset: the server's default.")
    neo4j_seconds: float = Field(10.0, gt=0, description="Ceiling of one call to the copy.")
    graph_label_prefix: str = Field(
        "",
        pattern=r"^([A-Za-z][A-Za-z0-9_]*)?$",
        description="Before every label in the copy: several environments share a cluster.",
    )
    neptune_region: str = Field("us-east-1", description="AWS region that signs for Neptune.")

    embedding_model: str = Field(
        BUNDLED_MODEL, description="A sentence-transformers model: local folder or hub name."
    )
    embedding_batch: int = Field(32, ge=1, le=1024)
    reranker_model: str | None = Field(
        None, description="A cross-encoder: local folder or hub name; unset: no reranking."
    )
    chat_model: str | None = Field(
        None, description="provider:model for LangChain's init_chat_model; unset: no LLM."
    )
    chat_fallbacks: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Models asked, in their order, when the one before gives no answer; "
        "separated by commas.",
    )
    chat_concurrency: int = Field(8, ge=1, description="Calls to a model at once.")
    chat_prices: dict[str, Price] = Field(
        default_factory=dict,
        description="US dollars a million tokens: {provider:model: {input: 0.15, output: 0.6}}.",
    )
    personas: Path | None = Field(
        None, description="YAML file of personas; unset: the ones that come with Clew."
    )
    cache_size: int = Field(
        1000, ge=0, description="Answers and lookups kept in memory, each; 0 keeps none."
    )
    path_cache_size: int = Field(100, ge=0, description="Walks kept in memory; 0 keeps none.")

    ingest_extraction: Literal["offline", "llm"] = Field(
        "offline",
        description="llm: documents are also read by the chat model when they are taken in.",
    )
    ingest_llm_seconds: float = Field(
        30.0, gt=0, description="Ceiling of one question about a document."
    )

    namespace: str = Field("default", description="Namespace when a caller names none.")
    language: str = Field("english", description="PostgreSQL text search configuration.")
    chunk_tokens: int = Field(512, ge=32, description="Upper bound; the encoder's limit wins.")
    chunk_overlap: float = Field(0.2, ge=0, lt=0.9)
    sections: bool = Field(
        False, description="Also store sections, groups of chunks, for two-tier retrieval."
    )
    node_group_size: int = Field(5, ge=1, description="Consecutive chunks of one section.")
    node_text_max_chars: int = Field(
        2000, ge=1, description="Where the text of a section is cut; its span is not."
    )
    curated_entities: Path | None = Field(
        None, description="YAML file of names, types, aliases and properties to recognise."
    )
    ingest_root: Path | None = Field(
        None, description="The only folder from which the served ingestion graph may read files."
    )
    auth: str | None = Field(
        None,
        pattern=r"^[\w.]+:\w+$",
        description="package.module:function that tells the server's callers from their headers.",
    )
    auth_tokens: Path | None = Field(
        None, description="YAML file of the tokens that the server accepts, by their digests."
    )
    auth_jwt_issuer: str | None = Field(None, description="Whose JWTs the server accepts: iss.")
    auth_jwt_audience: str | None = Field(None, description="For whom they must be meant: aud.")
    auth_jwt_keys: str | None = Field(
        None, description="What they are signed with: URL of a JWKS, or a JWKS or PEM file."
    )
    auth_jwt_groups: str = Field("groups", min_length=1, description="The claim with the groups.")
    auth_jwt_namespaces: str = Field(
        "namespaces", min_length=1, description="The claim with the namespaces."
    )
    breaker_failures: int = Field(3, ge=1, description="Consecutive failures that open a breaker.")
    breaker_seconds: float = Field(30.0, gt=0, description="Until an open breaker tries again.")

    otel: bool = Field(
        False, description="Send spans over OTLP/HTTP, to where OTEL_EXPORTER_OTLP_ENDPOINT says."
    )
    otel_content: bool = Field(
        False, description="Spans and logs also hold the question, and spans the passages."
    )
    log_format: Literal["text", "json"] | None = Field(
        None,
        description="Log to standard error, a line a run; unset: as the application does.",
    )

    @field_validator("chat_fallbacks", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.graph_store != "postgres" and self.neo4j_uri is None:
            raise ValueError(f"CLEW_GRAPH_STORE={self.graph_store} needs CLEW_NEO4J_URI")
        if self.chat_model is None and (self.chat_fallbacks or self.ingest_extraction == "llm"):
            asked = "CLEW_CHAT_FALLBACKS" if self.chat_fallbacks else "CLEW_INGEST_EXTRACTION=llm"
            raise ValueError(f"{asked} needs CLEW_CHAT_MODEL")
        jwt = (self.auth_jwt_issuer, self.auth_jwt_audience, self.auth_jwt_keys)
        if any(jwt) and not all(jwt):
            raise ValueError("CLEW_AUTH_JWT_ISSUER, _AUDIENCE and _KEYS need each other; set all")
        return self


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Read the environment once a process."""
    return Settings()
