"""What watches a process that runs until stopped: metrics, alerts, traces."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from holdfast.alerts import Alerting, AlertOptions, Sink
from holdfast.config.settings import Settings
from holdfast.engine.app import Holdfast
from holdfast.errors import UsageError
from holdfast.runtime import tracing

EXPORTERS: Final = ("otlp", "console", "none")
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@contextmanager
def observing(engine: Holdfast, settings: Settings, *, of_fleet: bool = True) -> Generator[None]:
    """Watch a process meanwhile, as the settings and the variables of OpenTelemetry say.

    Workers are made within it: whether their attempts are traced is decided then. Where many
    processes are alike, they are not `of_fleet`: each exports what it saw itself.
    """
    with ExitStack() as watching:
        stop_traces = configure_traces(os.environ)
        watching.callback(stop_traces)
        watching.callback(configure_metrics(engine, os.environ, of_fleet=of_fleet))
        if settings.metrics_port is not None:
            watching.enter_context(_metrics(engine, settings.metrics_host, settings.metrics_port))
        alerting = alerting_of(engine, settings)
        alerting.start()
        watching.callback(alerting.close)
        yield


def alerting_of(engine: Holdfast, settings: Settings) -> Alerting:
    """Return what tells alerts as the settings say, yet to be started."""
    options = AlertOptions(
        debounce=settings.alert_debounce, deadline_within=settings.alert_deadline_within
    )
    return Alerting(engine, sinks=_sinks(settings), options=options)


def _sinks(settings: Settings) -> list[Sink]:
    url, secret = settings.alert_webhook_url, settings.alert_webhook_secret
    if url is None:
        return []
    if secret is None:
        raise UsageError(
            "alerts by webhook are signed: set HOLDFAST_ALERT_WEBHOOK_SECRET to whsec_ and 32 "
            "bytes in base64, and give it to the receiver"
        )
    try:
        from holdfast.alerts.webhook import WebhookSink  # noqa: PLC0415 - an extra brings it
    except ModuleNotFoundError as error:
        raise UsageError("webhooks take an extra: pip install 'holdfast[http]'") from error
    return [WebhookSink(url, secret)]


@contextmanager
def _metrics(engine: Holdfast, host: str, port: int) -> Generator[None]:
    try:
        from holdfast.metrics import Exposition, MetricsPort  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError("metrics take an extra: pip install 'holdfast[metrics]'") from error
    exposition = Exposition(engine)
    try:
        served = MetricsPort(exposition, host=host, port=port)
        try:
            exposition.begin()
            served.start()
            yield
        finally:
            served.close()
    finally:
        exposition.close()


def configure_traces(environment: Mapping[str, str]) -> Callable[[], None]:
    """Export spans where the variables of OpenTelemetry ask for it; returns what ends that.

    A program that has configured an SDK by itself is left alone.
    """
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    asked = bool(exporter) or any(environment.get(name, "").strip() for name in _ENDPOINTS)
    disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if not asked or disabled or exporter == "none" or tracing.enabled():
        return lambda: None
    if exporter and exporter not in EXPORTERS:
        raise UsageError(
            f"OTEL_TRACES_EXPORTER is {exporter!r}; it may be {', '.join(EXPORTERS)}, or "
            "configure the SDK of OpenTelemetry in your app"
        )
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra brings it
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace.export import (  # noqa: PLC0415 - as above
            BatchSpanProcessor,
            ConsoleSpanExporter,
        )
    except ModuleNotFoundError as error:
        raise UsageError("traces take an extra: pip install 'holdfast[otel]'") from error
    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": "holdfast"}
    provider = TracerProvider(resource=Resource.create(named))
    chosen = ConsoleSpanExporter() if exporter == "console" else OTLPSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(chosen))
    trace.set_tracer_provider(provider)
    return provider.shutdown


def configure_metrics(
    engine: Holdfast, environment: Mapping[str, str], *, of_fleet: bool
) -> Callable[[], None]:
    """Export figures where `OTEL_METRICS_EXPORTER` asks for it; returns what ends that."""
    exporter = environment.get("OTEL_METRICS_EXPORTER", "").strip().lower()
    disabled = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if not exporter or disabled or exporter == "none":
        return lambda: None
    if exporter not in EXPORTERS:
        raise UsageError(f"OTEL_METRICS_EXPORTER is {exporter!r}; it may be {', '.join(EXPORTERS)}")
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415
            OTLPMetricExporter,
        )
        from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - an extra brings it
        from opentelemetry.sdk.metrics.export import (  # noqa: PLC0415 - as above
            ConsoleMetricExporter,
            PeriodicExportingMetricReader,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - as above

        from holdfast.metrics import Scope  # noqa: PLC0415 - as above
        from holdfast.metrics.otel import OtelMetrics  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        raise UsageError(
            "metrics by OpenTelemetry take extras: pip install 'holdfast[metrics,otel]'"
        ) from error
    named = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": "holdfast"}
    chosen = ConsoleMetricExporter() if exporter == "console" else OTLPMetricExporter()
    provider = MeterProvider(
        [PeriodicExportingMetricReader(chosen)], resource=Resource.create(named)
    )
    metrics = OtelMetrics(engine, provider, scope=None if of_fleet else Scope.PROCESS)

    def stop() -> None:
        # In this order, so that the last figures are exported.
        provider.shutdown()
        metrics.close()

    return stop
