"""A wire that can be cut: a TCP proxy whose faults are switched on and off."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

__all__ = ["Fault", "Proxy", "proxied", "within"]

Fault = Literal["none", "refuse", "reset", "blackhole"]


class Proxy:
    """Passes bytes on between its own port and another.

    `refuse`: connections are cut before a byte has passed. `reset`: they are cut in the middle of
    the next answer. `blackhole`: they stay open and nothing passes. `cuts`: how many connections a
    fault takes before it is over; without it a fault stays. `latency`: seconds before each answer.
    """

    def __init__(self, host: str, port: int) -> None:
        self._flowing = asyncio.Event()
        self.fault = "none"
        self.cuts: int | None = None
        self.latency = 0.0
        self.port = 0
        self.opened = 0
        self._behind = (host, port)

    @property
    def fault(self) -> Fault:
        """What goes wrong at the moment."""
        return self._fault

    @fault.setter
    def fault(self, fault: Fault) -> None:
        self._fault = fault
        if fault == "blackhole":
            self._flowing.clear()
        else:
            self._flowing.set()

    async def serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        """Handle one connection."""
        self.opened += 1
        if self.fault == "refuse":
            self._cut(answer)
            return
        server, ask = await asyncio.open_connection(*self._behind)
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(self._forth(client, ask), self._back(server, answer))
        for writer in (ask, answer):
            writer.transport.abort()

    async def _forth(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._flowing.wait()
            writer.write(data)
            await writer.drain()
        writer.transport.abort()

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await asyncio.sleep(self.latency)
            await self._flowing.wait()
            if self.fault in ("reset", "refuse"):
                if self.fault == "reset":
                    writer.write(data[: len(data) // 2])
                self._cut(writer)
                raise ConnectionResetError
            writer.write(data)
            await writer.drain()
        writer.transport.abort()

    def _cut(self, writer: asyncio.StreamWriter) -> None:
        if self.cuts is not None:
            self.cuts -= 1
            if not self.cuts:
                self.fault = "none"
        writer.transport.abort()


@asynccontextmanager
async def proxied(host: str, port: int) -> AsyncIterator[Proxy]:
    """A proxy in front of a port, on a free one of its own."""
    proxy = Proxy(host, port)
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        serving.add(task)
        try:
            await proxy.serve(reader, writer)
        finally:
            serving.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for task in [*serving]:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail what takes longer."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds
