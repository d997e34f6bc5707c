"""Callers by the file of tokens."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from clew.serving.auth import authenticators, who
from clew.serving.callers import Caller, CannotTell, Refused
from clew.serving.tokens import TokenFile
from clew.settings import Settings
from clew.stores.errors import InvalidInput

TOKEN = "open-sesame"
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
ALICE = f"""
- token_sha256: {DIGEST}
  identity: alice
  groups: [staff, ingest]
  namespaces: [family]
"""


def bearing(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "tokens.yaml", ALICE)


async def test_a_token_tells_identity_groups_and_namespaces(path: Path) -> None:
    caller = await TokenFile(path)(bearing(TOKEN))
    assert caller == Caller("alice", ("staff", "ingest"), ("family",))
    assert caller.permissions == ["staff", "ingest", "namespace:family"]


@pytest.mark.parametrize("headers", [{}, bearing(""), bearing("sesame"), bearing(DIGEST)], ids=str)
async def test_whoever_does_not_hold_a_token_is_nobody(path: Path, headers: dict[str, str]) -> None:
    ways = authenticators(Settings(auth_tokens=path))
    with pytest.raises(Refused):
        await who(ways, headers)


async def test_a_changed_file_counts_at_once(path: Path) -> None:
    tokens = TokenFile(path)
    written(path, ALICE.replace("staff, ", ""))
    assert await tokens(bearing(TOKEN)) == Caller("alice", ("ingest",), ("family",))
    written(path, "[]")
    assert await tokens(bearing(TOKEN)) is None
    written(path, "")
    with pytest.raises(CannotTell, match="CLEW_AUTH_TOKENS"):
        await tokens(bearing(TOKEN))
    written(path, ALICE)
    assert await tokens(bearing(TOKEN)) is not None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "valid list"),
        ("{}", "valid list"),
        (ALICE + ALICE, "hold one token twice"),
        (ALICE.replace(DIGEST, "open-sesame-itself"), "entry 1, token_sha256: this is not a SHA"),
        (ALICE + "- {identity: bob}", "entry 2, token_sha256: Field required"),
        (ALICE.replace("groups: [staff, ingest]", "groups: staff"), "entry 1, groups: .* tuple"),
        (ALICE.replace("groups", "roles"), "entry 1, roles: Extra inputs are not permitted"),
        (ALICE.replace("staff", "'namespace:x'"), "a group may not begin with"),
        (ALICE.replace("identity: alice", "identity: ''"), "identity that is not empty"),
        (ALICE + "- [open-sesame-itself", "not YAML; look at line 6"),
    ],
)
def test_a_file_that_cannot_be_used_says_why_without_repeating_a_token(
    path: Path, text: str, sentence: str
) -> None:
    path.write_text(text)
    with pytest.raises(InvalidInput, match=f"(?i){sentence}") as refused:
        TokenFile(path)
    assert "open-sesame" not in str(refused.value)
    assert "CLEW_AUTH_TOKENS" in str(refused.value)


def test_a_file_that_is_not_there_is_an_error(path: Path) -> None:
    path.unlink()
    with pytest.raises(InvalidInput, match="cannot be read"):
        authenticators(Settings(auth_tokens=path))


async def by_ticket(headers: dict[str, str]) -> tuple[str, list[str], list[str]] | None:
    """A way of somebody's own to tell callers."""
    return ("carol", ["staff"], ["*"]) if headers.get("x-ticket") == "good" else None


def not_async(headers: dict[str, str]) -> None:
    """What CLEW_AUTH does not take."""


async def test_a_function_of_one_s_own_is_asked_first(path: Path) -> None:
    ways = authenticators(Settings(auth=f"{__name__}:by_ticket", auth_tokens=path))
    assert await who(ways, {"x-ticket": "good"}) == Caller("carol", ("staff",), ("*",))
    assert (await who(ways, bearing(TOKEN))).identity == "alice"
    with pytest.raises(Refused, match="Authorization: Bearer TOKEN"):
        await who(ways, {"x-ticket": "bad"})


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("nothing", "cannot be imported"), ("not_async", "declare it with async def")],
)
def test_a_function_that_cannot_be_used_is_an_error(name: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        authenticators(Settings(auth=f"{__name__}:{name}"))
