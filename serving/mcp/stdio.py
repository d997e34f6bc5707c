"""`clew mcp`: one client, which started this process and talks to it over its pipes."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from ...stores.access import Identity
from ..sentences import MENDABLE, in_a_sentence
from .server import build
from .tools import Defaults

__all__ = ["serve"]

_log = logging.getLogger("clew")


def serve(identity: Identity, defaults: Defaults) -> None:
    """Answer until the client closes its end; standard output carries the protocol alone."""
    server = build(lambda _: identity, defaults, _opened_meanwhile)
    asyncio.run(_serve(server))


async def _serve(server: Server[Any]) -> None:
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* BrokenPipeError:
        # The client went without waiting for its answers.
        _log.info("The client has gone.")


@asynccontextmanager
async def _opened_meanwhile(_: Server[Any]) -> AsyncIterator[None]:
    """The models load while the client still asks what tools there are."""
    opening = asyncio.create_task(_open())
    try:
        yield
    finally:
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await opening
        if "clew.services" in sys.modules:
            from ...services import close_services

            await close_services()


async def _open() -> None:
    try:
        current_services = await asyncio.to_thread(_services)
        await current_services()
    except MENDABLE as error:
        # The first call tries again, and tells the client.
        _log.warning("%s", in_a_sentence(error))


def _services() -> Any:
    from ...graph import retrieval  # noqa: F401
    from ...services import current_services

    return current_services
