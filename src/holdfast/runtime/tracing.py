"""Traces by OpenTelemetry, where a program has them: what is stored, passed on and spanned.

Only the API of OpenTelemetry is used, and only if it is installed. While no SDK is configured no
span is made; a context that came in is still stored, kept with the job and passed on. Spans carry
ids, names and error classes, and neither payloads nor what secrets could hide in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from holdfast.core.values.trace_context import TraceContext, from_headers, read

try:
    from opentelemetry import context as otel_context
    from opentelemetry import trace as otel
    from opentelemetry.environment_variables import OTEL_PYTHON_TRACER_PROVIDER
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError:  # pragma: no cover - the extra `otel`, or FastAPI, brings it
    HAS_API = False
else:
    HAS_API = True
    _PROPAGATOR: Final = TraceContextTextMapPropagator()
    _NAMED_OUTSIDE: Final = OTEL_PYTHON_TRACER_PROVIDER in os.environ
    _RECORD_NOTHING: Final = (otel.ProxyTracerProvider, otel.NoOpTracerProvider)

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanKind, TracerProvider

SCOPE: Final = "holdfast"

_passed_on: ContextVar[str | None] = ContextVar("holdfast_trace", default=None)
_providers: list[TracerProvider] = []
"""The process's, like OpenTelemetry's own: calls that carry a trace on know of no application."""


def use_provider(provider: TracerProvider) -> Callable[[], None]:
    """Make spans by a provider of one's own, not by the global one; returns the undoing."""
    _providers.append(provider)
    return lambda: _providers.remove(provider)


def enabled() -> bool:
    """Return whether spans are recorded: whether an SDK is configured."""
    if not HAS_API or not (_providers or _NAMED_OUTSIDE or _global_provider()):
        return False
    return not isinstance(_provider(), _RECORD_NOTHING)


def current() -> str | None:
    """Return the context of whatever is under way here, in the form that is stored."""
    # Mostly there is nothing in the context at all, and this is asked for every job.
    if (
        HAS_API
        and otel_context.get_current()
        and otel.get_current_span().get_span_context().is_valid
    ):
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        context = from_headers(carrier)
        return None if context is None else context.text
    return _passed_on.get()


def headers() -> dict[str, str]:
    """Return the headers by which a call that is made here carries the trace on."""
    context = read(current())
    return {} if context is None else context.headers()


def received(request_headers: Mapping[str, str]) -> str | None:
    """Return the context of a request, by header names in lower case, as it is stored."""
    if HAS_API and otel.get_current_span().get_span_context().is_valid:
        # A server that makes spans has made one for this request, below what came with it.
        return current()
    context = from_headers(request_headers)
    return None if context is None else context.text


def submitting(what: str, given: str | None) -> AbstractContextManager[str | None]:
    """Return what a submission is made within; it yields the context that is stored with it.

    One that is given is stored as it is. Else, where spans are made, it is that of a span of the
    submission's own.
    """
    if given is not None:
        return nullcontext(given)
    if not enabled():
        return nullcontext(current())
    return _submission(what)


@contextmanager
def _submission(what: str) -> Generator[str | None]:
    kind = otel.SpanKind.PRODUCER
    tracer = _provider().get_tracer(SCOPE)
    with tracer.start_as_current_span(
        f"submit {what}", kind=kind, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield current()
        except Exception as error:
            fail(span, type(error).__name__)
            raise


@contextmanager
def span(
    name: str, *, asked_by: str | None, kind: str, attributes: Mapping[str, str | int]
) -> Generator[Span]:
    """Make a span the current one: below the context that asked for it, and linked to that.

    Below it, so that a job whose attempts are spread over days is one trace; linked, because no
    attempt is a part of the call that submitted the job. An exception that leaves it says nothing
    of itself: see `fail`.
    """
    parent = _context_of(asked_by)
    origin = otel.get_current_span(parent).get_span_context()
    started = (
        _provider()
        .get_tracer(SCOPE)
        .start_span(
            name,
            context=parent,
            kind=_kind(kind),
            links=[otel.Link(origin)] if origin.is_valid else None,
            attributes=dict(attributes),
        )
    )
    with otel.use_span(
        started, end_on_exit=True, record_exception=False, set_status_on_exception=False
    ):
        yield started


def fail(failed: Span, error_class: str, message: str | None = None) -> None:
    """Say of a span that it failed; `message` is text without secrets."""
    failed.set_attribute("error.type", error_class)
    failed.set_status(otel.Status(otel.StatusCode.ERROR, message or error_class))


@contextmanager
def passing_on(asked_by: str | None) -> Generator[None]:
    """Have calls that are made meanwhile carry on what was stored; no span is made."""
    kept = _passed_on.set(asked_by)
    try:
        yield
    finally:
        _passed_on.reset(kept)


def call_within(asked_by: str | None, call: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
    """Call a function as a part of a trace that came from elsewhere."""
    if asked_by is None:
        return call(*arguments)
    kept = _passed_on.set(asked_by)
    attached = otel_context.attach(_context_of(asked_by)) if HAS_API else None
    try:
        return call(*arguments)
    finally:
        if attached is not None:
            otel_context.detach(attached)
        _passed_on.reset(kept)


def _global_provider() -> object:
    """Return what was made the global provider, if anything was.

    Past the API, which looks into the environment each time: this is asked for every job. Where it
    cannot be seen so, the API is asked after all.
    """
    return getattr(otel, "_TRACER_PROVIDER", True)


def _provider() -> TracerProvider:
    return _providers[-1] if _providers else otel.get_tracer_provider()


def _kind(name: str) -> SpanKind:
    return otel.SpanKind[name.upper()]


def _context_of(text: str | None) -> Context:
    """Return the context that a stored text names; nothing of what is under way here is in it."""
    stored: TraceContext | None = read(text)
    empty = otel_context.Context()
    return empty if stored is None else _PROPAGATOR.extract(stored.headers(), context=empty)
