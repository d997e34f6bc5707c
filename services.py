"""What a process holds for one event loop: opened once, lazily, and closed together."""

from __future__ import annotations

import asyncio
import weakref
from dataclasses import dataclass

from .models.chat import ChatModel
from .models.embeddings import Embedder, ModelUnavailable, SentenceEmbedder, unpack
from .models.names import normalise
from .models.recognizer import Recognizer
from .models.reranker import Reranker
from .settings import Settings, load_settings
from .stores.breaker import Breaker
from .stores.errors import StoreUnavailable
from .stores.postgres import schema
from .stores.postgres.chunks import PostgresChunkStore
from .stores.postgres.database import Database
from .stores.postgres.documents import PostgresDocumentStore
from .stores.postgres.embedded import EmbeddedPostgres
from .stores.postgres.entities import PostgresEntityStore
from .stores.postgres.graph import PostgresGraphStore
from .stores.protocols import ChunkStore, DocumentStore, EntityStore, GraphStore

__all__ = ["Services", "close_services", "current_services", "open_services"]


@dataclass(frozen=True)
class Services:
    """Everything a node may ask for, by the name of its keyword parameter."""

    settings: Settings
    embedder: Embedder
    recognizer: Recognizer
    chat: ChatModel | None
    reranker: Reranker | None
    chunks: ChunkStore
    entities: EntityStore
    graph: GraphStore
    documents: DocumentStore
    graph_breaker: Breaker
    database: Database
    server: EmbeddedPostgres | None

    async def close(self) -> None:
        """Close pools and threads, then the embedded server if nobody else uses it."""
        await self.database.close()
        for model in (self.embedder, self.reranker):
            if isinstance(model, SentenceEmbedder | Reranker):
                model.close()
        if self.server is not None:
            await self.server.stop()


async def open_services(settings: Settings) -> Services:
    """Load the models and prepare the database, side by side.

    The embedded database is migrated here; any other only by `clew migrate`. Raises
    `ModelUnavailable`, `StoreUnavailable` and `StoreMisconfigured`.
    """
    server = EmbeddedPostgres(settings.data_dir) if settings.database_url is None else None
    starting = asyncio.create_task(_dsn(settings, server))
    loading = asyncio.create_task(_embedder(settings))
    try:
        dsn, embedder = await starting, await loading
    except BaseException:
        for task in (starting, loading):
            task.cancel()
        await asyncio.gather(starting, loading, return_exceptions=True)
        raise
    if server is not None:
        await schema.migrate(dsn, model=embedder.name, dimension=embedder.dimension)
    schema.check(await schema.inspect(dsn), model=embedder.name, dimension=embedder.dimension)
    database = Database(
        dsn,
        pool_size=settings.pool_size,
        pool_timeout=settings.pool_timeout,
        ef_search=settings.ef_search,
        revive=server.start if server else None,
    )
    return Services(
        settings=settings,
        embedder=embedder,
        recognizer=await asyncio.to_thread(Recognizer.load, settings.curated_entities),
        chat=await _chat(settings),
        reranker=await Reranker.open(settings.reranker_model) if settings.reranker_model else None,
        chunks=PostgresChunkStore(database),
        entities=PostgresEntityStore(database),
        graph=PostgresGraphStore(database),
        documents=PostgresDocumentStore(
            database, language=settings.language, normalise=normalise, unpack=unpack
        ),
        graph_breaker=_breaker("graph database", settings),
        database=database,
        server=server,
    )


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
    except BaseException:
        if task.done() and _open.get(loop) is task:
            del _open[loop]
        raise


async def close_services() -> None:
    """Close what the running event loop holds, if anything."""
    task = _open.pop(asyncio.get_running_loop(), None)
    if task is not None:
        await (await task).close()


async def _dsn(settings: Settings, server: EmbeddedPostgres | None) -> str:
    if server is not None:
        return await server.start()
    assert settings.database_url is not None
    return settings.database_url.get_secret_value()


async def _embedder(settings: Settings) -> Embedder:
    return await SentenceEmbedder.open(settings.embedding_model, batch=settings.embedding_batch)


async def _chat(settings: Settings) -> ChatModel | None:
    if settings.chat_model is None:
        return None
    return await ChatModel.open(
        settings.chat_model,
        concurrency=settings.chat_concurrency,
        breaker=_breaker("language model", settings),
    )


def _breaker(name: str, settings: Settings) -> Breaker:
    return Breaker(
        name,
        failures=(StoreUnavailable, ModelUnavailable, TimeoutError),
        threshold=settings.breaker_failures,
        seconds=settings.breaker_seconds,
    )
