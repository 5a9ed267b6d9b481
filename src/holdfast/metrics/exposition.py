"""The metrics of an application as text, in the form that the caller prefers."""

from __future__ import annotations

from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder

from holdfast.engine.app import Holdfast
from holdfast.metrics.fleet import FRESH_S, FleetMetrics
from holdfast.metrics.names import Scope
from holdfast.metrics.process import ProcessMetrics
from holdfast.metrics.systems import FRESH_S as SYSTEMS_FRESH_S
from holdfast.metrics.systems import SystemMetrics


class Page(NamedTuple):
    """What an endpoint answers."""

    content_type: str
    body: bytes


class Exposition:
    """All metrics that this process can tell of; it counts from when it is made until closed.

    A scraper of several processes asks one of them for the fleet's figures, and each for its
    own: else the fleet would be added up several times. What was read of the store is kept for
    `fresh_s` seconds, and for longer where reading takes long; with 0 every page is a new look.
    """

    def __init__(self, app: Holdfast, *, fresh_s: float = FRESH_S) -> None:
        self._process = ProcessMetrics(app)
        self._fleet = FleetMetrics(app, fresh_s=fresh_s)
        self._systems = SystemMetrics(app, fresh_s=SYSTEMS_FRESH_S if fresh_s else 0.0)
        self._registries: dict[Scope | None, CollectorRegistry] = {
            Scope.PROCESS: CollectorRegistry(),
            Scope.FLEET: CollectorRegistry(),
            None: CollectorRegistry(),
        }
        for scope in (Scope.PROCESS, None):
            # Registered without being asked what they have: that would read the store.
            self._registries[scope].register(self._process)
            ProcessCollector(registry=self._registries[scope])
        for scope in (Scope.FLEET, None):
            self._registries[scope].register(self._fleet)
            self._registries[scope].register(self._systems)

    def begin(self) -> None:
        """Take the first look at the store: the fleet's counters count from here on."""
        self._fleet.look()

    def page(self, accept: str = "", *, scope: Scope | None = None) -> Page:
        """Return the metrics, of one scope or of both, as `accept` asks for them."""
        encode, content_type = choose_encoder(accept)
        return Page(content_type, encode(self._registries[scope]))

    def close(self) -> None:
        """Stop counting."""
        self._process.close()
