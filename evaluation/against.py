"""Another retrieval system, asked the same questions over HTTP."""

from __future__ import annotations

import ipaddress
import json
import time
from asyncio import sleep
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from ..stores.errors import InvalidInput, StoreMisconfigured, StoreUnavailable
from .measures import DEPTH
from .report import write_whole
from .runner import Outcome

__all__ = ["Against"]

SECONDS = 30.0
"""How long one answer may take."""


class Kept(BaseModel):
    """An answer on disk: document ids, the best first, and how long it took."""

    ids: list[str]
    ms: float


class Against:
    """A system at a URL: POST {"question", "k"}, answered by {"documents": [{"id"}]}.

    A document's id may also be its `document_id`, or stand in its `metadata` as in what Clew's own
    server answers. Answers are kept in `folder`, so that the same question is sent once.
    """

    settings = None

    def __init__(self, url: str, *, folder: Path, rate: float, local_only: bool) -> None:
        """`rate`: requests a second at most. Raises `InvalidInput`."""
        self.name, host = _host(url)
        loopback = _is_loopback(host)
        if local_only and not loopback:
            raise InvalidInput(
                f"--local-only sends nothing to {self.name}; only an address such as 127.0.0.1, "
                "[::1] or localhost is local."
            )
        self._url = url
        self._folder = folder
        self._pause = 1 / rate
        self._next = 0.0
        # A proxy from the environment would take what is meant for this machine out of it.
        self._client = httpx.AsyncClient(timeout=SECONDS, trust_env=not loopback)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def answer(self, question: str) -> Outcome:
        """The documents for a question, sent or remembered; times are those of the sending.

        Raises `StoreUnavailable`, and `StoreMisconfigured` for an answer of another shape.
        """
        place = self._folder / f"{self._key(question)}.json"
        kept = _remembered(place)
        if kept is None:
            kept = await self._send(question)
            write_whole(place, kept.model_dump_json())
        return Outcome(ranked=list(dict.fromkeys(kept.ids)), ms={"whole run": kept.ms})

    async def _send(self, question: str) -> Kept:
        await sleep(self._next - time.monotonic())
        self._next = time.monotonic() + self._pause
        begun = time.perf_counter()
        try:
            answer = await self._client.post(self._url, json={"question": question, "k": DEPTH})
            answer.raise_for_status()
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise StoreUnavailable(f"{self.name} answered with status {status}.") from error
        except httpx.HTTPError as error:
            said = str(error) or type(error).__name__
            raise StoreUnavailable(f"{self.name} does not answer ({said}).") from error
        ms = (time.perf_counter() - begun) * 1000
        return Kept(ids=self._ids(answer), ms=ms)

    def _ids(self, answer: httpx.Response) -> list[str]:
        try:
            body = answer.json()
        except ValueError as error:
            raise self._mismatch("it is not JSON") from error
        if not isinstance(body, dict) or not isinstance(body.get("documents"), list):
            raise self._mismatch(f"the list 'documents' is missing; {_seen(body)}")
        ids = []
        for place, document in enumerate(body["documents"][:DEPTH]):
            found = _id_of(document)
            if found is None:
                raise self._mismatch(
                    f"documents[{place}] has no 'id' or 'document_id'; {_seen(document)}"
                )
            ids.append(found)
        return ids

    def _mismatch(self, problem: str) -> StoreMisconfigured:
        return StoreMisconfigured(
            f'{self.name} must answer {{"documents": [{{"id": "…"}}, …]}}, but {problem}.'
        )

    def _key(self, question: str) -> str:
        return sha256(json.dumps([self._url, question, DEPTH]).encode()).hexdigest()


def _host(url: str) -> tuple[str, str]:
    """The host with its port, which says who it is, and without."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"--against {url!r} is not a URL ({error}).") from error
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidInput(f"--against {url!r} is not a URL; write http://host:port/path.")
    return (f"{host}:{port}" if port else host), host


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _remembered(place: Path) -> Kept | None:
    """What was kept; what cannot be read is asked for again."""
    try:
        return Kept.model_validate_json(place.read_bytes())
    except (OSError, ValidationError):
        return None


def _id_of(document: Any) -> str | None:
    if not isinstance(document, dict):
        return None
    metadata = document.get("metadata")
    inner = metadata.get("document_id") if isinstance(metadata, dict) else None
    for value in (inner, document.get("document_id"), document.get("id")):
        if isinstance(value, str | int):
            return str(value)
    return None


def _seen(value: Any) -> str:
    """What was there instead."""
    if isinstance(value, dict):
        return f"it has {', '.join(map(repr, value)) or 'nothing'}"
    return f"it is {type(value).__name__}"
