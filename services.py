"""What a process holds for one event loop: opened once, lazily, and closed together."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from .metrics import Held, watch
from .models.chat import Chat, ChatModel
from .models.embeddings import Embedder, ModelUnavailable, SentenceEmbedder, unpack
from .models.ledger import ModelCall
from .models.names import normalise
from .models.personas import Personas
from .models.recognizer import Recognizer
from .models.reranker import Reranker
from .settings import Settings, load_settings
from .stores.breaker import Breaker, BreakerState
from .stores.cache import Cache
from .stores.errors import StoreUnavailable
from .stores.fallback import FallbackRate
from .stores.neo4j.aws import aws_credentials
from .stores.neo4j.connection import Neo4jConnection
from .stores.neo4j.dialect import Neo4j5, Neptune
from .stores.neo4j.graph import Neo4jGraphStore
from .stores.neo4j.neptune import neptune_auth
from .stores.neo4j.projection import Neo4jProjection
from .stores.postgres import schema
from .stores.postgres.chunks import PostgresChunkStore
from .stores.postgres.database import Database
from .stores.postgres.documents import PostgresDocumentStore
from .stores.postgres.embedded import EmbeddedPostgres
from .stores.postgres.entities import PostgresEntityStore
from .stores.postgres.graph import PostgresGraphStore
from .stores.postgres.outbox import PostgresOutbox
from .stores.postgres.sections import PostgresSectionStore
from .stores.prepared import Preparer
from .stores.projecting import Outbox
from .stores.protocols import (
    ChunkStore,
    DocumentStore,
    EntityStore,
    GraphProjection,
    GraphStore,
    SectionStore,
)
from .stores.records import NameMatch, ReachedEntity
from .telemetry.logs import configure_logs
from .telemetry.observed import observed
from .telemetry.spans import send_spans

__all__ = [
    "Services",
    "close_services",
    "current_services",
    "database_server",
    "open_copy",
    "open_services",
]


A = TypeVar("A")
B = TypeVar("B")

_log = logging.getLogger("clew")


@dataclass(frozen=True, eq=False)
class Services:
    """Everything a node may ask for, by the name of its keyword parameter."""

    settings: Settings
    embedder: Embedder
    recognizer: Recognizer
    personas: Personas
    chat: Chat | None
    reranker: Reranker | None
    chunks: ChunkStore
    sections: SectionStore
    entities: EntityStore
    graph: GraphStore
    """Where questions walk."""
    record: GraphStore
    """The graph in PostgreSQL, which is also there when `graph` is a copy that does not answer."""
    documents: DocumentStore
    outbox: Outbox
    projection: GraphProjection | None
    """The copy of the graph, if there is one."""
    graph_breaker: Breaker
    answers: Cache[ModelCall]
    """What a language model said."""
    links: Cache[Sequence[NameMatch]]
    """The entities that a question's words mean."""
    paths: Cache[Sequence[ReachedEntity]]
    """Where a walk over the record arrived."""
    mention_fallback: FallbackRate
    passage_fallback: FallbackRate
    database: Database
    closing: AsyncExitStack

    @property
    def breakers(self) -> list[Breaker]:
        """Of the graph database, of each language model, and of the reranker."""
        found = [self.graph_breaker, *(self.chat.breakers if self.chat else ())]
        return found + ([self.reranker.breaker] if self.reranker else [])

    async def close(self) -> None:
        """Close pools and threads, then the embedded server if nobody else uses it."""
        await self.closing.aclose()


async def open_services(settings: Settings) -> Services:
    """Load the models and prepare the database, side by side; nothing stays open when that fails.

    The embedded database is migrated here; any other only by `clew migrate`. Raises
    `ModelUnavailable`, `StoreUnavailable`, `StoreMisconfigured` and, for a broken list of curated
    entities, `InvalidInput`.
    """
    if settings.log_format is not None:
        configure_logs(settings.log_format)
    if settings.otel:
        await asyncio.to_thread(send_spans)
    async with AsyncExitStack() as opened:
        server = None
        if settings.database_url is None:
            server = EmbeddedPostgres(settings.data_dir)
            opened.push_async_callback(server.stop)
        dsn, embedder = await _side_by_side(_dsn(settings, server), _embedder(settings))
        opened.callback(embedder.close)
        if server is not None:
            await schema.migrate(dsn, model=embedder.name, dimension=embedder.dimension)
        schema.check(await schema.inspect(dsn), model=embedder.name, dimension=embedder.dimension)
        reranker = None
        if settings.reranker_model is not None:
            reranker = await Reranker.open(
                settings.reranker_model, breaker=_breaker("reranker", settings)
            )
            opened.callback(reranker.close)
        database = Database(
            dsn,
            pool_size=settings.pool_size,
            pool_timeout=settings.pool_timeout,
            ef_search=settings.ef_search,
            revive=server.start if server else None,
        )
        opened.push_async_callback(database.close)
        copy = open_copy(settings)
        if copy is not None:
            opened.push_async_callback(copy.close)
        record = observed(PostgresGraphStore(database), "graph")
        answers = Cache[ModelCall]("answers", settings.cache_size)
        services = Services(
            settings=settings,
            embedder=embedder,
            recognizer=await asyncio.to_thread(Recognizer.load, settings.curated_entities),
            personas=await asyncio.to_thread(Personas.load, settings.personas),
            chat=await _chat(settings, answers),
            reranker=reranker,
            chunks=observed(PostgresChunkStore(database), "chunks"),
            sections=observed(PostgresSectionStore(database), "sections"),
            entities=observed(PostgresEntityStore(database), "entities"),
            graph=record
            if copy is None or settings.graph_store == "postgres"
            else observed(Neo4jGraphStore(copy), "graph copy", system=settings.graph_store),
            record=record,
            outbox=PostgresOutbox(database),
            projection=None if copy is None else Neo4jProjection(copy),
            documents=observed(_documents(database, settings, embedder), "documents"),
            graph_breaker=_breaker("graph database", settings),
            answers=answers,
            links=Cache("links", settings.cache_size),
            paths=Cache("paths", settings.path_cache_size),
            mention_fallback=FallbackRate(
                "Linking the questions' names", "add aliases to the curated entities."
            ),
            passage_fallback=FallbackRate(
                "Finding the passages' entities",
                "curate more entities and aliases, or lower passage_min_cosine to admit fewer.",
            ),
            database=database,
            closing=opened.pop_all(),
        )
        watch(services, _held(services, embedder))
        return services


_open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Services]]
_open = weakref.WeakKeyDictionary()


async def current_services() -> Services:
    """The services of the running event loop, opened at first use and then shared.

    A failed opening is forgotten, so that the next caller tries again.
    """
    loop = asyncio.get_running_loop()
    task = _open.get(loop)
    if task is None:
        task = _open[loop] = loop.create_task(open_services(load_settings()))
    try:
        # A caller that gives up must not take the opening away from the others.
        return await asyncio.shield(task)
    finally:
        if task.done() and (task.cancelled() or task.exception()) and _open.get(loop) is task:
            del _open[loop]


async def close_services() -> None:
    """Close what the running event loop holds, if anything."""
    task = _open.pop(asyncio.get_running_loop(), None)
    if task is not None:
        await (await task).close()


@asynccontextmanager
async def database_server(settings: Settings) -> AsyncIterator[str]:
    """The DSN of the configured server; the embedded one is started and stopped."""
    server = None if settings.database_url else EmbeddedPostgres(settings.data_dir)
    try:
        yield await _dsn(settings, server)
    finally:
        if server is not None:
            await server.stop()


async def _side_by_side(
    first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B]
) -> tuple[A, B]:
    """Both results; when one fails the other is cancelled and waited for."""
    tasks = asyncio.create_task(first), asyncio.create_task(second)
    try:
        return await tasks[0], await tasks[1]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _dsn(settings: Settings, server: EmbeddedPostgres | None) -> str:
    if server is not None:
        return await server.start()
    assert settings.database_url is not None
    return settings.database_url.get_secret_value()


def open_copy(settings: Settings) -> Neo4jConnection | None:
    """The connection to the graph's copy, if one is configured; nothing is opened yet."""
    if settings.neo4j_uri is None:
        return None
    prefix, password = settings.graph_label_prefix, settings.neo4j_password
    neptune = settings.graph_store == "neptune"
    auth: Any = (settings.neo4j_user, password.get_secret_value()) if password else None
    if neptune:
        host = urlsplit(settings.neo4j_uri).netloc
        auth = neptune_auth(host, region=settings.neptune_region, credentials=aws_credentials)
    return Neo4jConnection(
        settings.neo4j_uri,
        dialect=Neptune(prefix) if neptune else Neo4j5(prefix),
        auth=auth,
        database=settings.neo4j_database,
        pool_size=settings.pool_size,
        seconds=settings.neo4j_seconds,
    )


def _documents(
    database: Database, settings: Settings, embedder: SentenceEmbedder
) -> PostgresDocumentStore:
    preparer = Preparer(normalise=normalise, unpack=unpack, dimension=embedder.dimension)
    return PostgresDocumentStore(database, language=settings.language, preparer=preparer)


def _held(services: Services, embedder: SentenceEmbedder) -> Held:
    """What Prometheus is told of, without holding the services."""
    return Held(
        breakers=services.breakers,
        caches=[services.answers, services.links, services.paths, embedder.questions],
        fallbacks={"mentions": services.mention_fallback, "passages": services.passage_fallback},
        pool=services.database.statistics,
    )


async def _embedder(settings: Settings) -> SentenceEmbedder:
    return await SentenceEmbedder.open(settings.embedding_model, batch=settings.embedding_batch)


async def _chat(settings: Settings, answers: Cache[ModelCall]) -> ChatModel | None:
    if settings.chat_model is None:
        return None
    return await ChatModel.open(
        [settings.chat_model, *settings.chat_fallbacks],
        concurrency=settings.chat_concurrency,
        prices=settings.chat_prices,
        breaker=lambda name: _breaker(name, settings),
        answers=answers,
    )


def _breaker(name: str, settings: Settings) -> Breaker:
    return Breaker(
        name,
        failures=(StoreUnavailable, ModelUnavailable, TimeoutError),
        threshold=settings.breaker_failures,
        seconds=settings.breaker_seconds,
        on_change=_log_change,
    )


def _log_change(name: str, state: BreakerState) -> None:
    level = logging.WARNING if state == "open" else logging.INFO
    _log.log(level, "The circuit of the %s is %s.", name, state.replace("_", "-"))
