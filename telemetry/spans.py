"""Spans through OpenTelemetry's API, which does next to nothing until somebody records them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from ..stores.errors import StoreMisconfigured

__all__ = ["begin", "fail", "send_spans", "span"]

_tracer = trace.get_tracer("clew")


def begin(name: str, attributes: Mapping[str, AttributeValue]) -> Span:
    """A span under the caller's, which whoever began it ends."""
    return _tracer.start_span(name, attributes=attributes)


@contextmanager
def span(
    name: str,
    attributes: Mapping[str, AttributeValue],
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    parent: Context | None = None,
) -> Iterator[Span]:
    """A span that others nest in, under `parent`, else under the caller's."""
    if _nobody_records():
        yield trace.INVALID_SPAN
        return
    with _tracer.start_as_current_span(
        name,
        context=parent,
        kind=kind,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except BaseException as error:
            fail(current, error)
            raise


def fail(current: Span, error: BaseException) -> None:
    """Mark a span as failed, by the kind of error: its words may quote a question."""
    current.set_attribute("error.type", type(error).__name__)
    current.set_status(Status(StatusCode.ERROR))


def send_spans() -> None:
    """Send the spans of this process over OTLP/HTTP, to where the variables `OTEL_…` say.

    Spans of an application with a tracer provider of its own already go there. Blocks while the
    SDK is loaded. Raises `StoreMisconfigured` when that is not installed.
    """
    if not _nobody_records():
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise StoreMisconfigured(
            "CLEW_OTEL needs OpenTelemetry's SDK and exporter; run `pip install 'clew[otel]'`."
        ) from error
    resource = Resource.create()
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "clew"}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _nobody_records() -> bool:
    """Whether neither Clew nor the application has set up where spans go."""
    return isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
