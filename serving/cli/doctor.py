"""`clew doctor`: what is configured, reachable and prepared, and what to do about the rest."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from .options import As, Namespace

if TYPE_CHECKING:
    from ...settings import Settings

__all__ = ["doctor"]

LITTLE_DISK = 2 * 1024**3


class Check(NamedTuple):
    """One line: state is ok, warn or fail."""

    state: str
    what: str
    found: str
    advice: str = ""


def doctor(
    profile: Annotated[
        bool,
        typer.Option("--profile-types", help="Also look up each type of entity, and time it."),
    ] = False,
    namespace: Namespace = "",
    principals: As = None,
) -> None:
    """Check the models, the database and what it holds. Exits 1 when something must be mended."""
    from . import render

    checks = asyncio.run(_checks())
    render.check_table(checks)
    if profile:
        _profile_types(namespace, principals)
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)


def _profile_types(namespace: str, principals: list[str] | None) -> None:
    from ...services import current_services
    from ...stores.access import current_identity
    from ...stores.postgres.entities import PostgresEntityStore
    from ...stores.postgres.profile import TypeProfile, profile_types
    from . import render
    from .running import run

    async def work() -> list[TypeProfile]:
        services = await current_services()
        space = namespace or services.settings.namespace
        entities = PostgresEntityStore(services.database)
        access = current_identity().access((space,))
        return await profile_types(services.database, entities, space, access)

    render.table(
        "types of entities",
        ["type", "entities", "with a vector", "passages each", "at most", "ms a name"],
        [
            [
                one["kind"],
                f"{one['entities']:,}",
                f"{one['embedded']:,}",
                f"{one['passages']:.1f}",
                f"{one['most']:,}",
                f"{one['lookup_ms']:.2f}",
            ]
            for one in run(work, principals)
        ],
    )


async def _checks() -> list[Check]:
    from ...models.embeddings import ModelUnavailable, SentenceEmbedder
    from ...settings import load_settings

    settings = load_settings()
    checks: list[Check] = []
    model: tuple[str, int] | None = None
    try:
        embedder = await SentenceEmbedder.open(settings.embedding_model, batch=1)
    except ModelUnavailable as error:
        checks.append(Check("fail", "embedding model", settings.embedding_model, str(error)))
    else:
        model = embedder.name, embedder.dimension
        found = (
            f"{embedder.name}: {embedder.dimension} dimensions, reads {embedder.max_tokens} tokens"
        )
        checks.append(Check("ok", "embedding model", found))
        embedder.close()
    checks += await _database(settings, model)
    checks += await _copy(settings)
    checks += await _optional(settings)
    return checks


async def _copy(settings: Settings) -> list[Check]:
    from ...services import open_copy
    from ...stores.errors import StoreError
    from ...stores.neo4j.graph import Neo4jGraphStore

    copy = open_copy(settings)
    if copy is None:
        return [Check("ok", "copy of the graph", "none: questions walk the record")]
    walked = "walked" if settings.graph_store != "postgres" else "kept, not walked"
    try:
        await Neo4jGraphStore(copy).healthy()
    except StoreError as error:
        return [Check("fail", "copy of the graph", f"{settings.neo4j_uri}, {walked}", str(error))]
    finally:
        await copy.close()
    return [Check("ok", "copy of the graph", f"{settings.neo4j_uri}, {walked}")]


async def _database(settings: Settings, model: tuple[str, int] | None) -> list[Check]:
    from ...stores.errors import StoreError

    if settings.database_url is not None:
        return await _record(settings.database_url.get_secret_value(), model)
    from ...stores.postgres.embedded import EmbeddedPostgres

    free = shutil.disk_usage(_existing(settings)).free
    state = "ok" if free > LITTLE_DISK else "warn"
    advice = "" if state == "ok" else "Free some space, or set CLEW_DATA_DIR to another disk."
    checks = [Check(state, "data folder", f"{settings.data_dir}, {free / 1e9:.0f} GB free", advice)]
    server = EmbeddedPostgres(settings.data_dir)
    try:
        dsn = await server.start()
    except StoreError as error:
        return [*checks, Check("fail", "database", "embedded server", str(error))]
    try:
        return checks + await _record(dsn, model)
    finally:
        await server.stop()


async def _record(dsn: str, model: tuple[str, int] | None) -> list[Check]:
    from ...stores.errors import StoreError
    from ...stores.postgres import schema

    try:
        state = await schema.inspect(dsn)
    except StoreError as error:
        return [Check("fail", "database", "not reachable", str(error))]
    checks = [Check("ok", "database", f"PostgreSQL {state.server}")]
    if state.pgvector is None:
        checks.append(Check("warn", "pgvector", "not yet enabled", "Run `clew migrate`."))
    else:
        checks.append(Check("ok", "pgvector", state.pgvector))
    if model is None:
        return checks
    try:
        schema.check(state, model=model[0], dimension=model[1])
    except StoreError as error:
        return [*checks, Check("fail", "schema", f"version {state.version}", str(error))]
    checks.append(Check("ok", "schema", f"version {state.version}, vectors of {state.model}"))
    return checks + [
        Check(
            "ok",
            f"namespace {s['namespace']}",
            f"{s['documents']} documents, {s['chunks']} chunks, {s['entities']} entities, "
            f"{s['relationships']} relations",
        )
        for s in await schema.namespaces(dsn)
    ]


async def _optional(settings: Settings) -> list[Check]:
    from ...models.chat import ChatModel
    from ...models.embeddings import ModelUnavailable
    from ...models.reranker import Reranker

    checks = []
    if settings.chat_model is None:
        checks.append(Check("ok", "chat model", "none: questions are read by their words"))
    else:
        for name in (settings.chat_model, *settings.chat_fallbacks):
            try:
                await ChatModel.check(name)
            except ModelUnavailable as error:
                checks.append(Check("fail", "chat model", name, str(error)))
            else:
                checks.append(Check("ok", "chat model", name))
    if settings.reranker_model is None:
        checks.append(Check("ok", "reranker", "none: passages keep the fused order"))
    else:
        try:
            await Reranker.check(settings.reranker_model)
        except ModelUnavailable as error:
            checks.append(Check("fail", "reranker", settings.reranker_model, str(error)))
        else:
            checks.append(Check("ok", "reranker", settings.reranker_model))
    return checks


def _existing(settings: Settings) -> str:
    folder = settings.data_dir.absolute()
    while not folder.exists():
        folder = folder.parent
    return str(folder)
