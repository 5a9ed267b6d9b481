"""The same figures by the metrics API of OpenTelemetry, under names of its conventions.

Needs the extras `metrics` and `otel`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, Final

from opentelemetry.metrics import (
    CallbackOptions,
    MeterProvider,
    Observation,
    get_meter_provider,
)
from prometheus_client.core import Metric as Family

from holdfast.core.job.decision import Kind as Happened
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import SECOND_US
from holdfast.engine.app import Holdfast
from holdfast.metrics import names
from holdfast.metrics.accumulators import SECONDS
from holdfast.metrics.attempts import ENDS
from holdfast.metrics.fleet import FRESH_S, FleetMetrics
from holdfast.metrics.names import TABLE, Kind, Metric, Scope
from holdfast.metrics.process import OUTCOMES, ProcessMetrics
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.events.signals import CallEnded
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.secrecy import redacted

SCOPE: Final = "holdfast"
_NAMED: Final[Mapping[str, str]] = {
    names.ATTEMPT_SECONDS.name: "messaging.process.duration",
    names.DEAD_LETTERS_TOTAL.name: "holdfast.dead_letters_left",
}
"""Those that have a name in the conventions, or would share one."""
_SUFFIXES: Final = ("_total", "_timestamp_seconds", "_seconds", "_ratio")
_ERROR: Final = "error.type"
_OF_EVERY_ATTEMPT: Final = {
    "messaging.system": SCOPE,
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
}
_TOGETHER_S: Final = 0.5
"""What is read for one instrument serves all that are collected with it."""


def name_of(metric: Metric) -> str:
    """Return the name of a metric by the conventions of OpenTelemetry."""
    known = _NAMED.get(metric.name)
    if known is not None:
        return known
    name = metric.name.removeprefix("holdfast_")
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return f"{SCOPE}.{name}"


def unit_of(metric: Metric) -> str:
    """Return the unit of a metric as UCUM has it."""
    return "s" if metric.name.removesuffix("_total").endswith("_seconds") else "1"


def attribute_of(label: str) -> str:
    """Return the name of a label as an attribute, as spans have it."""
    return _ERROR if label == "error_class" else f"{SCOPE}.{label}"


class OtelMetrics:
    """Gives a meter provider the figures of an application until it is closed.

    With a scope only those of the process, or of the fleet: of several processes one tells of the
    fleet. Without a provider it is the global one.
    """

    def __init__(
        self,
        app: Holdfast,
        provider: MeterProvider | None = None,
        *,
        scope: Scope | None = None,
        fresh_s: float = FRESH_S,
    ) -> None:
        self._process = ProcessMetrics(app)
        self._fleet = FleetMetrics(app, fresh_s=fresh_s)
        self._lock = threading.Lock()
        self._read: dict[Scope, tuple[float, list[Family]]] = {}
        self._closed = False
        self._meter = (provider or get_meter_provider()).get_meter(SCOPE, version("holdfast"))
        self._leave: list[Callable[[], None]] = []
        if scope is not Scope.PROCESS:
            self._fleet.look()
        for metric in TABLE:
            if scope in {None, metric.scope} and metric.kind is not Kind.HISTOGRAM:
                self._observe(metric)
        if scope is not Scope.FLEET:
            self._listen(app)

    def close(self) -> None:
        """Tell nothing more."""
        self._closed = True
        for leave in self._leave:
            leave()
        self._process.close()

    def _observe(self, metric: Metric) -> None:
        counts = metric.kind in {Kind.COUNTER, Kind.UNTYPED}
        create = (
            self._meter.create_observable_counter if counts else self._meter.create_observable_gauge
        )
        create(
            name_of(metric),
            callbacks=[partial(self._observations, metric)],
            unit=unit_of(metric),
            description=metric.says,
        )

    def _observations(self, metric: Metric, _options: CallbackOptions) -> Iterable[Observation]:
        for family in self._families(metric.scope):
            for sample in family.samples:
                if sample.name == metric.name:
                    labels = sample.labels.items()
                    yield Observation(sample.value, {attribute_of(name): at for name, at in labels})

    def _families(self, scope: Scope) -> list[Family]:
        if self._closed:
            return []
        with self._lock:
            until_s, families = self._read.get(scope, (0.0, []))
            if monotonic_s() >= until_s:
                collector = self._process if scope is Scope.PROCESS else self._fleet
                families = list(collector.collect())
                self._read[scope] = (monotonic_s() + _TOGETHER_S, families)
            return families

    def _listen(self, app: Holdfast) -> None:
        """Record durations as they come: there is no instrument that reads them later."""
        took = self._seconds(names.ATTEMPT_SECONDS)
        waited = self._seconds(names.WAIT_SECONDS)
        whole = self._seconds(names.PROCESSING_SECONDS)
        calls = self._seconds(names.CALL_SECONDS)
        operations = self._seconds(names.STORE_SECONDS)

        def on_decision(applied: Applied) -> None:
            job, decision = applied
            entry = decision.entry
            began_at = entry.started_at
            if began_at is None or entry.holder is None or entry.kind is Happened.HELD:
                return
            outcome = entry.kind.value
            about = {"pipeline": job.pipeline, "stage": entry.stage, "outcome": outcome}
            if entry.error_class is not None:
                about["error_class"] = entry.error_class
            took(entry.at - began_at, about, _OF_EVERY_ATTEMPT)
            if job.state is JobState.PROCESSING:
                waited(began_at - job.run_at, {"pipeline": job.pipeline})
            if decision.change.finished_at is not None and outcome in ENDS:
                ended = {"pipeline": job.pipeline, "outcome": ENDS[outcome]}
                whole(entry.at - (job.started_at or began_at), ended)

        def on_call(call: CallEnded) -> None:
            calls(call.took_us, {"upstream": call.upstream, "outcome": OUTCOMES[call.fine]})

        def on_operation(operation: str, took_s: float, _error: BaseException | None) -> None:
            operations(took_s * SECOND_US, {"operation": operation})

        self._leave += [
            app.subscribe(on_decision),
            app.signals.calls.listen(on_call),
            app.unopened_store.timings.observe(on_operation),
        ]

    def _seconds(self, metric: Metric) -> Callable[..., None]:
        histogram = self._meter.create_histogram(
            name_of(metric),
            unit=unit_of(metric),
            description=metric.says,
            explicit_bucket_boundaries_advisory=SECONDS,
        )

        def record(
            span_us: float, labels: Mapping[str, str], further: Mapping[str, Any] | None = None
        ) -> None:
            shown = {attribute_of(name): redacted(value) for name, value in labels.items()}
            histogram.record(max(span_us, 0) / SECOND_US, {**shown, **(further or {})})

        return record
