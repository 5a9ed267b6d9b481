"""Processes of grading behind a broker: main's relay and consumer, and `grading service`."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from grading.config import GradingConfig
from grading.grader.opening import open_tools
from grading.grader.side import GraderSide
from grading.main.side import MainSide
from grading.messages.contract import CALLBACK, DLQ, REQUEST
from grading.messages.topology import Topology
from grading.relaying import relay_options
from holdfast import Holdfast
from holdfast.bridges.celery import CeleryCarrier
from holdfast.messaging import Transport
from holdfast.systems import Service
from holdfast.workers import WorkerOptions

LOGGER: Final = logging.getLogger("grading.service")
TABLES: Final = {"grading": "grading.tables"}
DEFAULT_DATABASE_URL: Final = "sqlite:///holdfast.db"
STOP_S: Final = 30.0
TOGETHER: Final = 50
"""How many messages are handled together at most."""


def main_services(
    config: GradingConfig, main: MainSide
) -> Mapping[str, Callable[[Holdfast], Service]]:
    """Return what runs beside `holdfast up`: requests out, callbacks in."""
    topology = Topology.of(config)
    transport = NotedTransport(topology.transport())
    main.broker_connected = lambda: transport.connected

    def relay(app: Holdfast) -> Service:
        return app.relay(transport, options=relay_options(config), types=(REQUEST,))

    def callbacks(app: Holdfast) -> Service:
        return app.consumer(
            topology.url,
            queue=topology.callbacks,
            handle_many=main.handle_callbacks,
            prefetch=TOGETHER,
            **topology.terms,
        )

    return {"relay": relay, "callbacks": callbacks}


def grader_services(app: Holdfast, grader: GraderSide) -> dict[str, Service]:
    """Return what a grader runs: requests in, callbacks and records out, and the stages.

    With the runner `celery` the stages run in its fleet, to which due jobs are announced.
    """
    config = grader.config
    topology = Topology.of(config)
    services: dict[str, Service] = {
        "intake": app.consumer(
            topology.url,
            queue=topology.requests,
            handle_many=grader.intake.handle_many,
            prefetch=TOGETHER,
            **topology.terms,
        ),
        "relay": app.relay(
            topology.transport(), options=relay_options(config), types=(CALLBACK, DLQ)
        ),
        "dead-requests": app.dead_letter_consumer(
            topology.url, queue=topology.requests, handle=grader.dead_letters.wrap, **topology.terms
        ),
    }
    if config.consumes_dlq:
        services["dlq"] = app.consumer(
            topology.url,
            queue=topology.records,
            handle=grader.dead_letters.moved(app.handle_dead_letters(queue=DLQ)),
            **topology.terms,
        )
    if config.runner == "worker":
        services["worker"] = app.worker(options=worker_options(config))
    else:
        carrier = CeleryCarrier(topology.url, exchange=topology.celery_exchange)
        services["dispatcher"] = app.dispatcher(carrier, options=worker_options(config))
    return services


def worker_options(config: GradingConfig) -> WorkerOptions:
    """Return how the workers of a grader behave."""
    return WorkerOptions(concurrency=config.concurrency, lease=config.lease_s)


def grader_app(config: GradingConfig, *, database_url: str | None) -> tuple[Holdfast, GraderSide]:
    """Open the grader on its database: `GRADING_DATABASE_URL`, else that of the process."""
    grader = GraderSide(config, open_tools(config))
    url = config.database_url or database_url or DEFAULT_DATABASE_URL
    app = Holdfast(url, pipelines=grader.pipelines, tables=TABLES)
    grader.bind(app)
    return app, grader


class NotedTransport:
    """A transport of which it is known whether its broker took messages when last it was used."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.name = transport.name
        self.connected: bool | None = None

    def ready(self) -> Any:  # noqa: ANN401 - as the transport answers
        """Connect where that is needed; return why nothing can be published now, or None."""
        refusal = self._transport.ready()
        self.connected = refusal is None
        return refusal

    def publish(self, runs: Any, *, timeout_s: float) -> Any:  # noqa: ANN401 - as above
        """Publish messages and return what became of each."""
        return self._transport.publish(runs, timeout_s=timeout_s)

    def close(self) -> None:
        """Give everything back."""
        self._transport.close()


class Together:
    """Runs services in threads until a signal, or until one of them ends; a `Service` itself."""

    def __init__(self, services: Mapping[str, Service]) -> None:
        self._services = dict(services)
        self._ended = threading.Event()
        self._codes: dict[str, int] = {}
        self._lock = threading.Lock()

    def run(self, *, handle_signals: bool = True) -> int:
        """Run to the end and return the highest exit code of a service."""
        if handle_signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.request_stop())
        threads = [
            threading.Thread(target=self._serve, args=item, name=f"grading-{item[0]}", daemon=True)
            for item in self._services.items()
        ]
        for thread in threads:
            thread.start()
        while not self._ended.wait(0.5):
            pass
        self._stop()
        for thread in threads:
            thread.join(STOP_S)
        late = [thread.name for thread in threads if thread.is_alive()]
        if late:
            LOGGER.error("cut off: %s", ", ".join(late))
        return max([int(bool(late)), *self._codes.values()])

    def request_stop(self) -> None:
        """Let all services finish what they have begun, and end."""
        self._ended.set()

    def _stop(self) -> None:
        for service in self._services.values():
            service.request_stop()

    def _serve(self, name: str, service: Service) -> None:
        code = 1
        try:
            code = service.run(handle_signals=False)
        except Exception:
            LOGGER.exception("%s has failed", name, extra={"event": "service_failed"})
        finally:
            with self._lock:
                self._codes[name] = code
            self._ended.set()
