"""An OTLP collector on a local port, which keeps what it is sent."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Received:
    """A span as it came over the wire."""

    id: bytes
    parent: bytes
    name: str
    attributes: dict[str, Any]
    failed: bool
    nanoseconds: int


class Collector:
    """`spans`: all that came; `bodies`: the same as bytes."""

    def __init__(self) -> None:
        self.spans: list[Received] = []
        self.services: set[str] = set()
        self.bodies = b""
        handler = type("Handler", (_Handler,), {"collector": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def take(self, body: bytes) -> None:
        self.bodies += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.services.add(_values(resource.resource.attributes)["service.name"])
            for scope in resource.scope_spans:
                self.spans += [
                    Received(
                        id=one.span_id,
                        parent=one.parent_span_id,
                        name=one.name,
                        attributes=_values(one.attributes),
                        failed=one.status.code == 2,
                        nanoseconds=one.end_time_unix_nano - one.start_time_unix_nano,
                    )
                    for one in scope.spans
                ]

    def named(self, name: str) -> Received:
        """The one span of that name."""
        [found] = [one for one in self.spans if one.name == name]
        return found

    def parent_of(self, span: Received) -> str:
        """The name of the span that this one is nested in; empty: of none."""
        return next((one.name for one in self.spans if one.id == span.parent), "")

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    collector: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.path == "/v1/traces"
        self.collector.take(body)
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    try:
        yield collector
    finally:
        collector.close()


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)
