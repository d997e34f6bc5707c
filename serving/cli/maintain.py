"""`clew migrate` and `clew delete`: what an operator does to the record."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Namespace

__all__ = ["delete", "migrate"]


def migrate() -> None:
    """Prepare the configured database, or bring it up to this version. Safe to run again."""
    import asyncio

    from ...models.embeddings import SentenceEmbedder
    from ...settings import load_settings
    from ...stores.postgres import schema
    from . import render

    async def work() -> list[int]:
        settings = load_settings()
        embedder = await SentenceEmbedder.open(
            settings.embedding_model, batch=settings.embedding_batch
        )
        try:
            if settings.database_url is None:
                from ...stores.postgres.embedded import EmbeddedPostgres

                server = EmbeddedPostgres(settings.data_dir)
                dsn = await server.start()
                try:
                    return await schema.migrate(
                        dsn, model=embedder.name, dimension=embedder.dimension
                    )
                finally:
                    await server.stop()
            dsn = settings.database_url.get_secret_value()
            return await schema.migrate(dsn, model=embedder.name, dimension=embedder.dimension)
        finally:
            embedder.close()

    done = asyncio.run(work())
    render.note(f"Applied migrations {done}." if done else "The database is up to date.")


def delete(
    keys: Annotated[list[str], typer.Argument(help="Documents by id, as `clew ask` shows them.")],
    namespace: Namespace = "",
) -> None:
    """Delete documents, with every entity and relation that only they bore out."""
    from ...services import current_services
    from ...stores.access import Access
    from ...stores.errors import InvalidInput
    from . import render
    from .running import run

    async def work() -> int:
        services = await current_services()
        access = Access((namespace or services.settings.namespace,))
        return await services.documents.delete(keys, access=access)

    deleted = run(work)
    if deleted < len(set(keys)):
        raise InvalidInput(f"Deleted {deleted} of {len(set(keys))}; the others do not exist.")
    render.note(f"Deleted {deleted}.")
