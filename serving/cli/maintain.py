"""`clew migrate`, `delete` and `sync`: what an operator does to the record and its copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json, Namespace

if TYPE_CHECKING:
    from ...stores.projecting import Difference

__all__ = ["delete", "migrate", "sync"]

SHOWN = 20
"""Differences told one by one."""


def migrate() -> None:
    """Prepare the configured database, or bring it up to this version. Safe to run again."""
    import asyncio

    from ...models.embeddings import SentenceEmbedder
    from ...services import database_server
    from ...settings import load_settings
    from ...stores.postgres import schema
    from . import render

    async def work() -> list[int]:
        settings = load_settings()
        embedder = await SentenceEmbedder.open(
            settings.embedding_model, batch=settings.embedding_batch
        )
        try:
            async with database_server(settings) as dsn:
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
        deleted = await services.documents.delete(keys, access=access)
        await services.documents.weigh(access=access)
        return deleted

    deleted = run(work)
    if deleted < len(set(keys)):
        raise InvalidInput(f"Deleted {deleted} of {len(set(keys))}; the others do not exist.")
    render.note(f"Deleted {deleted}.")


def sync(
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare every row of both sides; send nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring the graph's copy in Neo4j or Neptune up to the record; goes on where it stopped.

    The first run copies everything and has ingestion note what changes from then on. With
    --verify the exit code is 1 when the sides differ though nothing waits to be sent.
    """
    from ...services import current_services
    from ...stores.errors import InvalidInput
    from ...stores.projecting import compare, send
    from . import render
    from .running import run

    async def work() -> tuple[int, int, float, list[Difference]]:
        services = await current_services()
        if services.projection is None:
            raise InvalidInput("There is no copy to bring up to date; set CLEW_NEO4J_URI.")
        sent, differences = 0, list[Difference]()
        with render.progress("Comparing" if verify else "Sending") as bar:
            if verify:
                differences = await compare(
                    services.outbox, services.projection, lambda n: bar(n, None, "Comparing")
                )
            else:
                sent = await send(
                    services.outbox, services.projection, lambda n: bar(n, None, "Sending")
                )
        pending, seconds = await services.outbox.lag()
        return sent, pending, seconds, differences

    sent, pending, seconds, differences = run(work)
    if as_json:
        render.json_output(
            {
                "sent": sent,
                "pending": pending,
                "lag_seconds": round(seconds, 1),
                "differences": differences,
            }
        )
    elif verify:
        for one in differences[:SHOWN]:
            render.note(f"{one['kind']} {one['id']}: {one['what']}")
        render.note(f"{len(differences)} differences; {_waiting(pending, seconds)}.")
    else:
        render.note(f"Sent {sent}; {_waiting(pending, seconds)}.")
    if differences and not pending:
        raise typer.Exit(1)


def _waiting(pending: int, seconds: float) -> str:
    return f"{pending} changes wait, the oldest for {seconds:.0f} s" if pending else "nothing waits"
