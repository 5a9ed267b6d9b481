"""Figures for Prometheus: of the whole fleet, from the store, and of this process.

The extra `metrics` brings what this needs.
"""

from __future__ import annotations

from holdfast.metrics.exposition import Exposition
from holdfast.metrics.names import BY_NAME, TABLE, Kind, Metric, Scope
from holdfast.metrics.port import MetricsPort

__all__ = ["BY_NAME", "TABLE", "Exposition", "Kind", "Metric", "MetricsPort", "Scope"]
