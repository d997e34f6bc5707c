"""Callers by JWT, with real keys and a real server of keys."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from clew.serving.auth import authenticators, who
from clew.serving.callers import Caller, CannotTell, Refused
from clew.serving.signed import LEEWAY_SECONDS, SignedTokens
from clew.settings import Settings
from clew.stores.errors import InvalidInput

ISSUER, AUDIENCE = "https://issuer.example", "clew"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
P256, EDWARDS = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
KINDS: dict[type, Any] = {
    rsa.RSAPublicKey: jwt.algorithms.RSAAlgorithm,
    ec.EllipticCurvePublicKey: jwt.algorithms.ECAlgorithm,
    ed25519.Ed25519PublicKey: jwt.algorithms.OKPAlgorithm,
}
KOBLITZ = ec.generate_private_key(ec.SECP256K1())


def pem(key: Any) -> str:
    public: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return public.decode()


def jwks(**keys: Any) -> str:
    found = []
    for kid, key in keys.items():
        public = key.public_key()
        [kind] = [kind for parent, kind in KINDS.items() if isinstance(public, parent)]
        found.append({**kind.to_jwk(public, as_dict=True), "kid": kid, "use": "sig"})
    return json.dumps({"keys": found})


def token(
    key: Any = RSA, *, algorithm: str = "RS256", kid: str | None = "one", **claims: Any
) -> str:
    now = int(time.time())
    # Some are made when the tests are collected, long before they are asked.
    usual = {
        **{"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 86_400},
        **{"groups": ["staff"], "namespaces": "family work"},
    }
    said = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    return jwt.encode(said, key, algorithm=algorithm, headers={"kid": kid} if kid else None)


def bearing(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def tokens_of(keys: Path | str, **claims: str) -> SignedTokens:
    names = {"groups": "groups", "namespaces": "namespaces", **claims}
    return SignedTokens(issuer=ISSUER, audience=AUDIENCE, keys=str(keys), **names)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "keys", jwks(one=RSA, two=P256, three=EDWARDS))


async def test_a_token_tells_identity_groups_and_namespaces(path: Path) -> None:
    caller = await tokens_of(path)(bearing(token()))
    assert caller == Caller("alice", ("staff",), ("family", "work"))
    assert await tokens_of(path)({}) is None


async def test_the_claims_are_chosen_by_name(path: Path) -> None:
    tokens = tokens_of(path, groups="cognito:groups", namespaces="https://clew.example/spaces")
    claims: Any = {"cognito:groups": ["ingest"], "https://clew.example/spaces": ["*"]}
    assert await tokens(bearing(token(**claims))) == Caller("alice", ("ingest",), ("*",))
    assert await tokens(bearing(token())) == Caller("alice")


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [
        (RSA, "RS512", "one"),
        (RSA, "PS256", "one"),
        (P256, "ES256", "two"),
        (EDWARDS, "EdDSA", "three"),
    ],
    ids=["RS512", "PS256", "ES256", "EdDSA"],
)
async def test_the_key_decides_what_it_may_be_used_with(
    path: Path, key: Any, algorithm: str, kid: str
) -> None:
    assert await tokens_of(path)(bearing(token(key, algorithm=algorithm, kid=kid)))
    single = written(path, pem(key))
    assert await tokens_of(single)(bearing(token(key, algorithm=algorithm, kid=None)))


NOW = int(time.time())


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (token(exp=NOW - LEEWAY_SECONDS - 5), "has expired"),
        (token(nbf=NOW + 3600), "not valid yet"),
        (token(aud="somebody-else"), "another audience"),
        (token(iss="https://evil.example"), "another issuer"),
        (token(exp=None), "no claim 'exp'"),
        (token(aud=None), "no claim 'aud'"),
        (token(iss=None), "no claim 'iss'"),
        (token(sub=None), "no claim 'sub'"),
        (token(sub=""), "identity that is not empty"),
        (token(groups={"staff": True}), "'groups' of this token is not a list"),
        (token(namespaces=[1]), "'namespaces' of this token is not a list"),
        (token(groups=["namespace:secret"]), "may not begin with 'namespace:'"),
        (token(kid="unknown"), "a key that this server does not know"),
        (token(kid=None), "a key that this server does not know"),
        (token(STRANGER), "not one that this server knows"),
        (token(P256, algorithm="ES256", kid="one"), "not one that this server knows"),
        (token(None, algorithm="none"), "not one that this server knows"),
        ("not.a.token", "not one that this server knows"),
        ("opaque", "not one that this server knows"),
    ],
)
async def test_a_token_that_does_not_hold_is_refused_with_the_reason(
    path: Path, bad: str, sentence: str
) -> None:
    with pytest.raises(Refused, match=sentence) as refused:
        await tokens_of(path)(bearing(bad))
    assert bad not in str(refused.value)


async def test_a_little_difference_between_clocks_does_no_harm(path: Path) -> None:
    assert await tokens_of(path)(bearing(token(exp=int(time.time()) - LEEWAY_SECONDS // 2)))


@pytest.mark.parametrize("algorithm", ["HS256", "HS512"])
async def test_the_public_key_is_no_secret_to_sign_with(path: Path, algorithm: str) -> None:
    for text, kid in ((pem(RSA), None), (jwks(one=RSA), "one")):
        written(path, text)
        header, claims, _ = token(kid=kid).split(".")
        header = _encoded({"alg": algorithm, "typ": "JWT", **({"kid": kid} if kid else {})})
        digest = {"HS256": hashlib.sha256, "HS512": hashlib.sha512}[algorithm]
        signed = hmac.new(pem(RSA).encode(), f"{header}.{claims}".encode(), digest).digest()
        forged = f"{header}.{claims}.{base64.urlsafe_b64encode(signed).rstrip(b'=').decode()}"
        with pytest.raises(Refused):
            await tokens_of(path)(bearing(forged))


def _encoded(header: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"keys": []}',
        jwks(one=KOBLITZ),
        json.dumps({"keys": [{"kty": "oct", "k": "c2VjcmV0LW9mLW91cnM", "kid": "one"}]}),
        RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        json.dumps(
            {"keys": [{**jwt.algorithms.RSAAlgorithm.to_jwk(RSA, as_dict=True), "kid": "x"}]}
        ),
    ],
    ids=["empty", "object", "no keys", "other curve", "secret", "private PEM", "private JWK"],
)
def test_keys_that_are_not_public_ones_are_an_error_that_does_not_repeat_them(
    path: Path, text: str
) -> None:
    path.write_text(text)
    with pytest.raises(InvalidInput, match="neither a JWKS nor PEM with public keys") as refused:
        tokens_of(path)
    assert "c2VjcmV0" not in str(refused.value)


def test_keys_that_are_not_there_or_come_in_the_clear_are_an_error(path: Path) -> None:
    path.unlink()
    with pytest.raises(InvalidInput, match="cannot be read"):
        tokens_of(path)
    with pytest.raises(InvalidInput, match="use https"):
        tokens_of("http://issuer.example/jwks.json")


@dataclass
class KeyServer:
    """Serves a JWKS that can be changed, and counts how often it is asked."""

    text: str
    status: int = 200
    asked: int = 0
    url: str = field(default="", init=False)


@pytest.fixture
def key_server() -> Iterator[KeyServer]:
    served = KeyServer(jwks(one=RSA))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked += 1
            self.send_response(served.status)
            self.end_headers()
            self.wfile.write(served.text.encode())

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}/jwks.json"
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


async def test_keys_are_fetched_at_first_use_and_kept(key_server: KeyServer) -> None:
    tokens = tokens_of(key_server.url)
    assert key_server.asked == 0
    for _ in range(3):
        assert await tokens(bearing(token())) == Caller("alice", ("staff",), ("family", "work"))
    for kid in ("unknown", "guessed", None):
        with pytest.raises(Refused, match="a key that this server does not know"):
            await tokens(bearing(token(kid=kid)))
    assert key_server.asked == 1, "guessed keys must not make the server ask again and again"


async def test_a_server_of_keys_that_is_down_admits_nobody(key_server: KeyServer) -> None:
    tokens = tokens_of(key_server.url)
    key_server.status = 500
    with pytest.raises(CannotTell, match="CLEW_AUTH_JWT_KEYS"):
        await tokens(bearing(token()))
    key_server.status = 200
    assert await tokens(bearing(token()))


async def test_the_settings_put_it_together(path: Path) -> None:
    settings = Settings(auth_jwt_issuer=ISSUER, auth_jwt_audience=AUDIENCE, auth_jwt_keys=str(path))
    assert (await who(authenticators(settings), bearing(token()))).identity == "alice"
    with pytest.raises(ValueError, match="need each other"):
        Settings(auth_jwt_keys=str(path))
