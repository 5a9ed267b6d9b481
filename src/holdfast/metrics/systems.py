"""Figures of systems, read on request, and not too often."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from holdfast.engine.app import Holdfast
from holdfast.engine.figures import Figure
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.secrecy import redacted

LOGGER: Final = logging.getLogger("holdfast.metrics")
FRESH_S: Final = 5.0


class SystemMetrics(Collector):
    """Asks systems for their figures; what one of them gets wrong costs its own figures alone."""

    def __init__(self, app: Holdfast, *, fresh_s: float = FRESH_S) -> None:
        self._app = app
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._families: list[Family] = []
        self._fresh_until_s = 0.0

    def collect(self) -> Iterator[Family]:
        """Yield the families of all systems."""
        with self._lock:
            if monotonic_s() >= self._fresh_until_s:
                self._families = _families(self._read())
                self._fresh_until_s = monotonic_s() + self._fresh_s
            families = self._families
        yield from families

    def _read(self) -> Iterator[Figure]:
        for source in self._app.figure_sources:
            try:
                yield from list(source())
            except Exception:
                LOGGER.exception(
                    "figures of a system cannot be read", extra={"event": "figures_failed"}
                )


def _families(figures: Iterable[Figure]) -> list[Family]:
    """Return figures by name; one that does not agree with the first of its name is left out."""
    families: dict[str, Family] = {}
    first: dict[str, Figure] = {}
    for figure in figures:
        name = figure.name.removesuffix("_total") if figure.kind == "counter" else figure.name
        known = first.setdefault(name, figure)
        if (figure.kind, list(figure.labels)) != (known.kind, list(known.labels)):
            LOGGER.error(
                "figures called %s differ in kind or labels; one is left out",
                figure.name,
                extra={"event": "figures_failed"},
            )
            continue
        if name not in families:
            kind = CounterMetricFamily if figure.kind == "counter" else GaugeMetricFamily
            families[name] = kind(name, figure.help, labels=list(figure.labels))
        shown = [redacted(value) for value in figure.labels.values()]
        families[name].add_metric(shown, figure.value)  # type: ignore[attr-defined]  # both have it
    return list(families.values())
