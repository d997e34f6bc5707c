"""The server's door: who is calling, and what is theirs. `langgraph.json` names it."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from langgraph_sdk import Auth
from starlette.exceptions import HTTPException

from ..settings import Settings, load_settings
from ..stores.errors import InvalidInput
from .callers import Authenticator, Caller, CannotTell, Refused, bearer
from .tokens import TokenFile

__all__ = ["auth", "authenticators", "who"]

ANONYMOUS = "anonymous"
INGESTION = "ingestion"
MAY_INGEST = "ingest"
MAY_ADMINISTER = "admin"
OPEN = {"/healthz", "/readyz"}
"""Paths that need no login: whoever runs the server asks them."""

_log = logging.getLogger("clew")


def authenticators(settings: Settings) -> list[Authenticator]:
    """The configured ways to tell callers apart, in the order in which they are asked.

    Raises `InvalidInput` when one of them cannot be used.
    """
    ways: list[Authenticator] = []
    if settings.auth:
        ways.append(_own(settings.auth))
    if settings.auth_tokens:
        ways.append(TokenFile(settings.auth_tokens))
    if settings.auth_jwt_issuer and settings.auth_jwt_audience and settings.auth_jwt_keys:
        from .signed import SignedTokens

        ways.append(
            SignedTokens(
                issuer=settings.auth_jwt_issuer,
                audience=settings.auth_jwt_audience,
                keys=settings.auth_jwt_keys,
                groups=settings.auth_jwt_groups,
                namespaces=settings.auth_jwt_namespaces,
            )
        )
    return ways


def _own(path: str) -> Authenticator:
    """The function that CLEW_AUTH names: headers in; identity, groups, namespaces or None out."""
    module, _, name = path.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInput(f"CLEW_AUTH={path} cannot be imported: {error}") from error
    if not inspect.iscoroutinefunction(function):
        raise InvalidInput(f"CLEW_AUTH={path} is not an async function; declare it with async def.")

    async def ask(headers: Mapping[str, str]) -> Caller | None:
        told = await function(headers)
        if told is None:
            return None
        identity, groups, namespaces = told
        return Caller(identity, tuple(groups), tuple(namespaces))

    return ask


async def who(ways: Sequence[Authenticator], headers: Mapping[str, str]) -> Caller:
    """The caller, by the first way that can tell. Raises `Refused` when none can."""
    for way in ways:
        caller = await way(headers)
        if caller is not None:
            return caller
    if bearer(headers) is None:
        raise Refused("This server wants to know who calls; send `Authorization: Bearer TOKEN`.")
    raise Refused("This token is not one that this server knows; get a new one.")


auth = Auth()
# At import: a server that cannot tell its callers apart must not start.
_ways = authenticators(load_settings())


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes], path: str) -> dict[str, Any]:
    """The server's user. Without any configured way everybody is anonymous."""
    if not _ways or path in OPEN:
        return {"identity": ANONYMOUS, "is_authenticated": False, "permissions": []}
    plain = {
        key.decode("latin-1").lower(): value.decode("latin-1") for key, value in headers.items()
    }
    try:
        caller = await who(_ways, plain)
    except Refused as error:
        raise Auth.exceptions.HTTPException(401, str(error)) from error
    except CannotTell as error:
        _log.error("Nobody can be authenticated. %s", error)
        raise HTTPException(503, "Who calls cannot be told now; try again later.") from error
    return {"identity": caller.identity, "permissions": caller.permissions}


@auth.on
async def owned(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.FilterType:
    """Threads, with their runs, belong to who made them."""
    owner = {"owner": ctx.user.identity}
    if ctx.action in {"create", "create_run", "update"}:
        # In place, since the server goes on with the same mapping.
        metadata = value.get("metadata")
        if metadata is None:
            metadata = value["metadata"] = {}
        metadata.update(owner)
    return owner


@auth.on.threads.create_run
async def run(ctx: Auth.types.AuthContext, value: Auth.types.RunsCreate) -> Auth.types.FilterType:
    """Anybody may ask; documents are taken in for who may."""
    # Only the server knows under which id it has put the graph.
    from langgraph_api.graph import get_assistant_id

    if str(value["assistant_id"]) == str(get_assistant_id(INGESTION)):
        _demand(ctx, MAY_INGEST, "Taking documents in")
    return await owned(ctx, value)


@auth.on.assistants
async def assistants(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
    """Assistants are everybody's to use, and an administrator's to change."""
    if ctx.action in {"read", "search"}:
        return True
    if value.get("graph_id") == INGESTION:
        # `run` knows the one that the server made.
        raise _forbidden("The ingestion graph takes no assistants; run it as `ingestion`.")
    _demand(ctx, MAY_ADMINISTER, "Changing assistants")
    return True


@auth.on.crons.create
async def cron(ctx: Auth.types.AuthContext, value: Auth.types.CronsCreate) -> bool:  # noqa: ARG001
    """The server would run it as its owner without groups or namespaces, who sees nothing."""
    raise _forbidden("Crons are not served; call /runs from a scheduler, with a token of its own.")


@auth.on.store
async def home(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
    """Items of the store lie below a namespace of their owner's."""
    own = quote(ctx.user.identity, safe="").replace(".", "%2E")
    asked = tuple(value.get("namespace") or ())
    value["namespace"] = asked if asked[:1] == (own,) else (own, *asked)
    return True


def _demand(ctx: Auth.types.AuthContext, group: str, doing: str) -> None:
    if ctx.user.is_authenticated and group not in ctx.permissions:
        raise _forbidden(f"{doing} is for members of the group {group!r}; ask for it.")


def _forbidden(sentence: str) -> Exception:
    return Auth.exceptions.HTTPException(403, sentence)
