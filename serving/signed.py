"""Callers by JWTs that somebody else signs (RFC 7519), after the best practice of RFC 8725."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from ..stores.errors import InvalidInput
from .callers import Caller, CannotTell, Refused, bearer

__all__ = ["SignedTokens"]

LEEWAY_SECONDS = 30
"""How far clocks may be apart."""
KEYS_SECONDS = 5
"""How long to wait for a JWKS that is fetched."""

CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
UNKNOWN_KEY = "This token is signed with a key that this server does not know; get a new one."

_Key = tuple[Any, list[str]]
"""A public key and the algorithms that it may be used with."""
_Keys = Callable[[str | None], _Key]
"""By the `kid` of a token."""


class SignedTokens:
    """Callers by JWT: `sub` is the identity, two claims hold groups and namespaces.

    `keys`: the URL of a JWKS (https, or http on this machine), fetched at first use and kept for
    five minutes, or a file with a JWKS or a public key in PEM. Raises `InvalidInput` when those
    cannot be used.
    """

    def __init__(
        self, *, issuer: str, audience: str, keys: str, groups: str, namespaces: str
    ) -> None:
        self._issuer, self._audience = issuer, audience
        self._groups, self._namespaces = groups, namespaces
        self._key = _fetched(keys) if "://" in keys else _from_file(Path(keys))

    async def __call__(self, headers: Mapping[str, str]) -> Caller | None:
        """The subject of the token; `None` without one.

        Raises `Refused` for a token that does not hold, `CannotTell` when the keys cannot be had.
        """
        token = bearer(headers)
        if token is None:
            return None
        claims = await asyncio.to_thread(self._verified, token)
        groups, namespaces = _names(claims, self._groups), _names(claims, self._namespaces)
        try:
            return Caller(claims["sub"], groups, namespaces)
        except InvalidInput as error:
            raise Refused(str(error)) from error

    def _verified(self, token: str) -> dict[str, Any]:
        try:
            key, algorithms = self._key(jwt.get_unverified_header(token).get("kid"))
            return jwt.decode(
                token,
                key,
                algorithms=algorithms,
                issuer=self._issuer,
                audience=self._audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.InvalidTokenError as error:
            raise Refused(_told(error)) from error


def _told(error: jwt.InvalidTokenError) -> str:
    match error:
        case jwt.ExpiredSignatureError():
            return "This token has expired; get a new one."
        case jwt.ImmatureSignatureError():
            return "This token is not valid yet; see that the clocks agree."
        case jwt.InvalidAudienceError():
            return "This token is meant for another audience; get one for this server."
        case jwt.InvalidIssuerError():
            return "This token comes from another issuer than the one this server trusts."
        case jwt.MissingRequiredClaimError():
            return f"This token has no claim {error.claim!r}, without which it is not accepted."
        case _:
            return "This token is not one that this server knows; get a new one."


def _names(claims: Mapping[str, Any], claim: str) -> tuple[str, ...]:
    """A claim's names: a list, or one string with spaces between them as in `scope`."""
    value = claims.get(claim, [])
    names = value.split() if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused(f"The claim {claim!r} of this token is not a list of names.")
    return tuple(names)


def _fetched(url: str) -> _Keys:
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
        raise InvalidInput(
            f"CLEW_AUTH_JWT_KEYS={url}: anybody on the way could put in keys; use https."
        )
    client = jwt.PyJWKClient(url, timeout=KEYS_SECONDS)

    def key(kid: str | None) -> _Key:
        try:
            if kid is None:
                raise Refused(UNKNOWN_KEY)
            return _usable(client.get_signing_key(kid).key)
        except jwt.PyJWKClientConnectionError as error:
            raise CannotTell(f"The keys {url} (CLEW_AUTH_JWT_KEYS): {error}") from error
        except jwt.PyJWKClientError as error:
            raise Refused(UNKNOWN_KEY) from error

    return key


def _from_file(path: Path) -> _Keys:
    said = f"The keys {path} (CLEW_AUTH_JWT_KEYS)"
    try:
        text = path.read_text("utf-8")
        if not text.lstrip().startswith("{"):
            only = _usable(load_pem_public_key(text.encode()))
            return lambda _: only
        known = {jwk.key_id: _usable(jwk.key) for jwk in jwt.PyJWKSet.from_json(text).keys}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{said} cannot be read: {error}") from error
    except (ValueError, jwt.PyJWTError, Refused):
        # What stands in the file may be a secret that was put there by mistake: it is not repeated.
        raise InvalidInput(
            f"{said} are neither a JWKS nor PEM with public keys (RSA, elliptic curve, Edwards)."
        ) from None

    def key(kid: str | None) -> _Key:
        found = known.get(kid)
        if found is None:
            raise Refused(UNKNOWN_KEY)
        return found

    return key


def _usable(key: Any) -> _Key:
    """A public key with what it may verify. The token has no say: by its `alg` alone, `none` would
    do, or an HMAC with the public key as the secret.
    """
    match key:
        case rsa.RSAPublicKey():
            return key, ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
        case ec.EllipticCurvePublicKey() if key.curve.name in CURVES:
            return key, [CURVES[key.curve.name]]
        case ed25519.Ed25519PublicKey() | ed448.Ed448PublicKey():
            return key, ["EdDSA"]
        case _:
            raise Refused(UNKNOWN_KEY)
