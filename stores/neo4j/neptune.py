"""Logging in to Amazon Neptune: a signed request stands in for the password.

Neptune's Bolt takes what the headers of a signed `GET /opencypher` would be, as JSON, for the
password of any user. The signature is AWS Signature Version 4 and holds for five minutes.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from neo4j import basic_auth
from neo4j.auth_management import AsyncAuthManager, AsyncAuthManagers, ExpiringAuth

__all__ = ["AwsCredentials", "neptune_auth", "signed_password"]

SERVICE = "neptune-db"
METHOD = "GET"
PATH = "/opencypher"
ALGORITHM = "AWS4-HMAC-SHA256"
SECONDS = 240
"""How long one signature is used: a minute less than it holds."""


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """An access key; `token` belongs to a temporary one."""

    key: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


def neptune_auth(
    host: str,
    *,
    region: str,
    credentials: Callable[[], AwsCredentials | Awaitable[AwsCredentials]],
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> AsyncAuthManager:
    """Sign anew every four minutes, and whenever the server refuses what was signed.

    `host` is the cluster's endpoint with its port, as in the address connected to. `credentials`
    is asked before each signature, so that keys may rotate; what it raises reaches the caller.
    """

    async def signed() -> ExpiringAuth:
        given = credentials()
        known = await given if inspect.isawaitable(given) else given
        password = signed_password(known, host=host, region=region, now=clock())
        # Neptune reads neither name nor realm, but wants both.
        return ExpiringAuth(basic_auth("username", password, "realm")).expires_in(SECONDS)

    return AsyncAuthManagers.bearer(signed)


def signed_password(credentials: AwsCredentials, *, host: str, region: str, now: datetime) -> str:
    """The JSON of a signed request's headers; `now` must know its time zone."""
    time = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": host, "x-amz-date": time}
    if credentials.token:
        headers["x-amz-security-token"] = credentials.token
    names = ";".join(headers)
    canonical = "\n".join(
        [
            METHOD,
            PATH,
            "",
            *(f"{name}:{value}" for name, value in headers.items()),
            "",
            names,
            hashlib.sha256(b"").hexdigest(),
        ]
    )
    scope = f"{time[:8]}/{region}/{SERVICE}/aws4_request"
    to_sign = "\n".join([ALGORITHM, time, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signature = _mac(_signing_key(credentials.secret, scope), to_sign).hex()
    password = {
        "Authorization": f"{ALGORITHM} Credential={credentials.key}/{scope}, "
        f"SignedHeaders={names}, Signature={signature}",
        "HttpMethod": METHOD,
        "X-Amz-Date": time,
        "Host": host,
    }
    if credentials.token:
        password["X-Amz-Security-Token"] = credentials.token
    return json.dumps(password)


def _signing_key(secret: str, scope: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    return key


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
