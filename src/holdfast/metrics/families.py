"""From figures to the families that prometheus-client writes."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    UnknownMetricFamily,
)
from prometheus_client.core import Metric as Family

from holdfast.metrics.accumulators import Histogram, Labels
from holdfast.metrics.names import Metric
from holdfast.secrecy import redacted

Figures = Iterable[tuple[Labels, float]]


def gauge(metric: Metric, figures: Figures) -> Family:
    """Return a gauge with these figures."""
    family = GaugeMetricFamily(metric.family, metric.says, labels=metric.labels)
    for labels, value in figures:
        family.add_metric(_shown(labels), value)
    return family


def counter(metric: Metric, figures: Figures) -> Family:
    """Return a counter with these figures."""
    family = CounterMetricFamily(metric.family, metric.says, labels=metric.labels)
    for labels, value in figures:
        family.add_metric(_shown(labels), value)
    return family


def untyped(metric: Metric, figures: Figures) -> Family:
    """Return a family without a type with these figures."""
    family = UnknownMetricFamily(metric.family, metric.says, labels=metric.labels)
    for labels, value in figures:
        family.add_metric(_shown(labels), value)
    return family


def histogram(metric: Metric, histograms: Iterable[Histogram]) -> Family:
    """Return a family of what was counted."""
    family = HistogramMetricFamily(metric.family, metric.says, labels=metric.labels)
    for labels, buckets, total in histograms:
        family.add_metric(_shown(labels), buckets, total)
    return family


def _shown(labels: Labels) -> list[str]:
    """Return labels without secrets: a name may be made of anything, and everybody reads these."""
    return [redacted(label) for label in labels]
