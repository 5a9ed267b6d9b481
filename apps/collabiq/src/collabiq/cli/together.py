"""Services in threads of one process, which end together."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from holdfast.systems import Service

LOGGER: Final = logging.getLogger("collabiq.cli")
STOP_S: Final = 30.0
_LOOK_S: Final = 0.5


class Together:
    """Runs services within a block, or until a signal or the end of one of them."""

    def __init__(self, services: Mapping[str, Service]) -> None:
        self._services = dict(services)
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._codes: dict[str, int] = {}
        self._threads = [
            threading.Thread(target=self._serve, args=item, name=f"collabiq-{item[0]}", daemon=True)
            for item in self._services.items()
        ]

    @property
    def has_failed(self) -> bool:
        """Whether one of them has failed."""
        with self._lock:
            return any(self._codes.values())

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for service in self._services.values():
            service.request_stop()
        for thread in self._threads:
            thread.join(STOP_S)
        late = [thread.name for thread in self._threads if thread.is_alive()]
        if late:
            LOGGER.error("cut off: %s", ", ".join(late), extra={"event": "cut_off"})

    def wait(self) -> int:
        """Return once a signal came or a service has ended: 0 for a clean end."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._ended.set())
        # A signal interrupts the main thread only between waits of limited length.
        while not self._ended.wait(_LOOK_S):
            pass
        return int(self.has_failed)

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
