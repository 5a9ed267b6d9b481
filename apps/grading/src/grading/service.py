"""Processes of grading behind a broker: main's relay and consumer, and `grading service`."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Final

from grading.config import GradingConfig
from grading.main.side import MainSide
from grading.messages.contract import REQUEST
from grading.messages.topology import CALLBACKS, Topology
from grading.relaying import relay_options
from holdfast import Holdfast
from holdfast.systems import Service

LOGGER: Final = logging.getLogger("grading.service")
STOP_S: Final = 30.0


def main_services(
    config: GradingConfig, main: MainSide
) -> Mapping[str, Callable[[Holdfast], Service]]:
    """Return what runs beside `holdfast up`: requests out, callbacks in."""
    topology = Topology.of(config)

    def relay(app: Holdfast) -> Service:
        return app.relay(topology.transport(), options=relay_options(config), types=(REQUEST,))

    def callbacks(app: Holdfast) -> Service:
        return app.consumer(
            topology.url, queue=CALLBACKS, handle=main.handle_callback, **topology.terms
        )

    return {"relay": relay, "callbacks": callbacks}


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
