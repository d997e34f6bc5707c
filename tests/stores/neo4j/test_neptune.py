"""Signatures, to the byte; the expected ones were made with botocore 1.44."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from clew.stores.neo4j.neptune import SECONDS, AwsCredentials, neptune_auth, signed_password

# The example key of AWS's own documentation of Signature Version 4.
KEY = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "AQoEXAMPLEH4aoAH0gNCAPy"
HOST = "db.cluster-example.us-east-1.neptune.amazonaws.com:8182"
NOW = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)

SIGNATURES = {
    (HOST, "us-east-1", None): "22603486a488e59a665b6eafbaa7395e0179f3976206a122108660053dabaecf",
    (HOST, "us-east-1", TOKEN): "4fec26d6a8db6de06d38e9b604649edcbf1b89f7b30772d358bc395640834f0f",
    ("localhost:7687", "eu-west-1", None): (
        "efc2fdaa39fd0c0b6d96f49c6f6e0046c94aee912997ec19fc38b105987b3441"
    ),
}


@pytest.mark.parametrize(("host", "region", "token"), SIGNATURES)
def test_the_password_is_the_headers_of_a_signed_request(
    host: str, region: str, token: str | None
) -> None:
    credentials = AwsCredentials(KEY, SECRET, token)
    password = signed_password(credentials, host=host, region=region, now=NOW)
    names = "host;x-amz-date" + (";x-amz-security-token" if token else "")
    assert json.loads(password) == {
        "Authorization": f"AWS4-HMAC-SHA256 Credential={KEY}/20150830/{region}/neptune-db"
        f"/aws4_request, SignedHeaders={names}, "
        f"Signature={SIGNATURES[host, region, token]}",
        "HttpMethod": "GET",
        "X-Amz-Date": "20150830T123600Z",
        "Host": host,
        **({"X-Amz-Security-Token": token} if token else {}),
    }


def test_the_time_zone_of_the_clock_does_not_matter() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=9)))
    credentials = AwsCredentials(KEY, SECRET)
    assert signed_password(
        credentials, host=HOST, region="us-east-1", now=there
    ) == signed_password(credentials, host=HOST, region="us-east-1", now=NOW)


@pytest.mark.parametrize("sync", [True, False])
async def test_credentials_are_asked_for_again_when_the_signature_is_used_up(
    sync: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def rotating() -> AwsCredentials:
        nonlocal asked
        asked += 1
        return AwsCredentials(f"KEY{asked}", SECRET)

    async def rotating_slowly() -> AwsCredentials:
        return rotating()

    elapsed = 0.0
    start = time.time()
    monkeypatch.setattr("time.time", lambda: start + elapsed)
    manager = neptune_auth(
        HOST,
        region="us-east-1",
        credentials=rotating if sync else rotating_slowly,
        clock=lambda: NOW + timedelta(seconds=elapsed),
    )

    async def told_at(seconds: float) -> dict[str, str]:
        nonlocal elapsed
        elapsed = seconds
        return dict(vars(await manager.get_auth()))

    first = await told_at(0)
    assert await told_at(SECONDS - 1) == first
    later = await told_at(SECONDS + 1)
    assert (first["scheme"], first["principal"]) == ("basic", "username")
    assert "KEY1/" in first["credentials"]
    assert "KEY2/" in later["credentials"]
    assert json.loads(later["credentials"])["X-Amz-Date"] == "20150830T124001Z"


def test_secrets_are_not_shown() -> None:
    shown = repr(AwsCredentials(KEY, SECRET, TOKEN))
    assert SECRET not in shown
    assert TOKEN not in shown
