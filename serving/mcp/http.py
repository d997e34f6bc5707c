"""The tools beside the LangGraph server's API, at `/mcp`, over streamable HTTP.

The server's own `/mcp` answers with the `repr` of whatever a graph returns, so it is switched off
in `langgraph.json` and this takes its place.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...graph.given import identity_of_user
from ...stores.access import Identity
from .server import build
from .tools import Defaults

__all__ = ["ROUTES", "running"]


def _who_asks(context: ServerRequestContext[Any]) -> Identity:
    """The user whom the server authenticated for this very request."""
    assert context.request is not None
    return identity_of_user(context.request.scope.get("user"))


# Stateless: any process behind a load balancer can answer any request.
_sessions = StreamableHTTPSessionManager(build(_who_asks, Defaults()), stateless=True)


@asynccontextmanager
async def running() -> AsyncIterator[None]:
    """While this lasts, the routes answer."""
    async with _sessions.run():
        yield


async def _refuse(_: Request) -> Response:
    """Without sessions there is nothing that a GET could wait for or a DELETE could end."""
    return Response(status_code=405, headers={"Allow": "POST"})


ROUTES = (
    Route("/mcp", StreamableHTTPASGIApp(_sessions), methods=["POST"]),
    Route("/mcp", _refuse, methods=["GET", "DELETE"]),
)
