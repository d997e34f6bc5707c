"""Wires that can be cut: a proxy before a server, whose faults are switched on and off."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Literal

__all__ = ["Behind", "Fault", "Proxy", "proxied", "within"]

Fault = Literal["none", "refuse", "reset", "blackhole", "cut", "garbage"]
ON_THE_WIRE: dict[str, Fault] = {
    "refused": "refuse",
    "reset": "reset",
    "blackholed": "blackhole",
    "cut mid-answer": "cut",
    "malformed": "garbage",
}
"""Faults by what whoever asks meets."""

Behind = tuple[str, int] | Path
"""Where a server listens: host and port, or a socket in the file system."""

GARBAGE = b"\xff\x00 no protocol says this \x00\xff" * 8
AT_ONCE = struct.pack("ii", 1, 0)


class Proxy:
    """Passes bytes on between a port of its own and a server.

    `refuse`: connections end before a byte has passed. `reset`: they are reset once something is
    asked. `blackhole`: they stay open and nothing passes. `cut`: they end after `bytes` of the next
    answer, or half of it. `garbage`: what comes back is no answer. `cuts`: how many connections a
    fault takes before it is over; without it a fault stays. `latency`: seconds before each answer.
    `behind`: where new connections lead.
    """

    def __init__(self, behind: Behind) -> None:
        self._flowing = asyncio.Event()
        self.fault = "none"
        self.bytes: int | None = None
        self.cuts: int | None = None
        self.latency = 0.0
        self.port = 0
        self.opened = 0
        self.behind = behind

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
        with suppress(OSError):
            server, ask = await self._connect()
            try:
                await asyncio.gather(self._forth(client, ask, answer), self._back(server, answer))
            finally:
                ask.transport.abort()
        answer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self.behind, Path):
            return await asyncio.open_unix_connection(self.behind)
        return await asyncio.open_connection(*self.behind)

    async def _forth(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: asyncio.StreamWriter,
    ) -> None:
        while data := await reader.read(65536):
            await self._flowing.wait()
            if self.fault == "reset":
                sock: socket.socket = answer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                self._cut(answer)
                raise ConnectionResetError
            writer.write(data)
            await writer.drain()
        writer.transport.abort()

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await asyncio.sleep(self.latency)
            await self._flowing.wait()
            if self.fault in ("cut", "refuse"):
                if self.fault == "cut":
                    writer.write(data[: len(data) // 2 if self.bytes is None else self.bytes])
                self._cut(writer)
                raise ConnectionResetError
            writer.write(GARBAGE if self.fault == "garbage" else data)
            await writer.drain()
        writer.transport.abort()

    def _cut(self, writer: asyncio.StreamWriter) -> None:
        if self.cuts is not None:
            self.cuts -= 1
            if not self.cuts:
                self.fault = "none"
        writer.transport.abort()


@asynccontextmanager
async def proxied(behind: Behind) -> AsyncIterator[Proxy]:
    """A proxy before a server, on a free port of its own."""
    proxy = Proxy(behind)
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        serving.add(task)
        try:
            with suppress(asyncio.CancelledError):  # the end of the proxy
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
