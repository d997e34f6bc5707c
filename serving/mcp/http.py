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
from starlette.types import Receive, Scope, Send

from ...graph.given import identity_of_user
from ...stores.access import Identity
from .server import build
from .tools import Defaults

__all__ = ["ROUTES", "running"]


def _who_asks(context: ServerRequestContext[Any]) -> Identity:
    """The user whom the server authenticated for this very request."""
    assert context.request is not None
    return identity_of_user(context.request.scope.get("user"))


class _Tools:
    """The tools over HTTP, for as long as they run; a manager of sessions runs only once."""

    def __init__(self) -> None:
        self._answers: StreamableHTTPASGIApp | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this lasts, the route answers."""
        # Stateless: any process behind a load balancer can answer any request.
        sessions = StreamableHTTPSessionManager(build(_who_asks, Defaults()), stateless=True)
        async with sessions.run():
            self._answers = StreamableHTTPASGIApp(sessions)
            yield
        self._answers = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._answers is None:
            await Response(status_code=503)(scope, receive, send)
        else:
            await self._answers(scope, receive, send)


_tools = _Tools()
running = _tools.running


async def _refuse(_: Request) -> Response:
    """Without sessions there is nothing that a GET could wait for or a DELETE could end."""
    return Response(status_code=405, headers={"Allow": "POST"})


ROUTES = (
    Route("/mcp", _tools, methods=["POST"]),
    Route("/mcp", _refuse, methods=["GET", "DELETE"]),
)
