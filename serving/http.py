"""What the LangGraph server serves beside its own routes: MCP, whether it lives, and is ready.

The last two are for whoever runs it and need no login, so that neither says more than one sentence.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ..models.embeddings import ModelUnavailable
from ..services import current_services
from ..stores.errors import StoreError, StoreMisconfigured
from .mcp.http import ROUTES, running

__all__ = ["app"]

READY_SECONDS = 2.0
"""For saying whether it is ready; models that are still being loaded go on loading."""


async def healthz(_: Request) -> JSONResponse:
    """200 as long as the process answers at all."""
    return JSONResponse({"status": "ok"})


async def readyz(_: Request) -> JSONResponse:
    """200 when the models are loaded and the database answers, else 503 with a sentence."""
    reason = await _missing()
    if reason is None:
        return JSONResponse({"status": "ready"})
    return JSONResponse({"status": "not ready", "reason": reason}, status_code=503)


async def _missing() -> str | None:
    """What keeps questions from being answered; the log of the process says more."""
    stage = "Models and database are still being opened."
    try:
        async with asyncio.timeout(READY_SECONDS):
            services = await current_services()
            stage = "The database does not answer in time."
            # Not through a store: a probe every few seconds is no question worth a span.
            await services.database.fetch("select 1", {})
    except TimeoutError:
        return stage
    except StoreMisconfigured:
        return "The database cannot be used as configured; `clew doctor` says why."
    except StoreError:
        return "The database does not answer."
    except ModelUnavailable:
        return "A model cannot be loaded; `clew doctor` says which."
    return None


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    async with running():
        yield


app = Starlette(
    routes=[Route("/healthz", healthz), Route("/readyz", readyz), *ROUTES], lifespan=_lifespan
)
