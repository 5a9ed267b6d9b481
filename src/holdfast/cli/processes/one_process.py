"""Server, worker, relay and services in one process: they start together, and end together."""

from __future__ import annotations

import logging
import math
import queue
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Protocol

from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.systems import Service

LOGGER: Final = logging.getLogger("holdfast.cli")
LOOK_S: Final = 0.5
"""How often it looks whether the server still lives."""
STEP_S: Final = 0.1
HASTE_S: Final = 3.0
"""How long requests may go on once haste was asked for."""


class Server(Protocol):
    """What answers requests, in threads of its own."""

    @property
    def address(self) -> str:
        """Where it is found, once it has started."""
        ...

    def start(self) -> None:
        """Listen, or raise why that cannot be."""
        ...

    def request_stop(self) -> None:
        """Take no more requests, and end once those under way have been answered."""
        ...

    def wait(self, timeout_s: float | None = None) -> bool:
        """Return whether it has ended, after at most so long."""
        ...


class OneProcess:
    """Runs a server and the parts beside it until a signal, or until one of them cannot go on.

    The first SIGTERM or SIGINT lets all of them finish what they have begun; the second asks for
    haste. A part that ends cleanly by itself, because an operator drained it, leaves the others
    running; one that fails takes the process down, for its supervisor to start anew.

    `grace_s` is how long the server lets requests go on before it cuts them off.
    """

    def __init__(
        self,
        server: Server,
        parts: Mapping[str, Service],
        *,
        grace_s: float = math.inf,
        haste_s: float = HASTE_S,
    ) -> None:
        self._server = server
        self._grace_s = grace_s
        self._haste_s = haste_s
        self._parts = dict(parts)
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []
        self._failed = False
        # A signal may interrupt any line of the main thread, so its handler only counts; the
        # queue is reentrant, unlike an Event.
        self._asked = 0
        self._noticed: queue.SimpleQueue[None] = queue.SimpleQueue()

    def run(
        self, started: Callable[[str], None], *, ending: Callable[[], None] = lambda: None
    ) -> int:
        """Run to the end and return 0 when nothing was cut off.

        `started` gets the address, and `ending` is called when the end begins.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.request_stop())
        self._server.start()
        try:
            for name, part in self._parts.items():
                thread = threading.Thread(
                    target=self._serve, args=(name, part), name=f"holdfast-{name}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
            started(self._server.address)
            self._work()
            ending()
        finally:
            clean = self._end()
        if self._errors:
            raise self._errors[0]
        return 0 if clean and not self._failed else 1

    def request_stop(self) -> None:
        """Ask everything to end; again, to hurry. Safe in a signal handler."""
        self._asked += 1
        self._noticed.put(None)

    def _work(self) -> None:
        while not self._asked and not self._failed:
            with suppress(queue.Empty):
                self._noticed.get(timeout=LOOK_S)
            if self._server.wait(0):
                LOGGER.critical(
                    "the HTTP server has ended by itself; the process ends",
                    extra={"event": "fatal"},
                )
                self._failed = True

    def _end(self) -> bool:
        """End everything, and tell whether all of it ended in its own time."""
        asked = max(self._asked, 1)
        requests_end_at_s = monotonic_s() + self._grace_s
        self._server.request_stop()
        self._stop_parts()
        served = hurried = False
        while not served or any(thread.is_alive() for thread in self._threads):
            if not served and self._server.wait(STEP_S):
                served = True
                if monotonic_s() >= requests_end_at_s:
                    self._failed = True
            for thread in self._threads:
                thread.join(STEP_S)
            if self._asked > asked:
                asked, hurried = self._asked, True
                self._stop_parts()
            served = served or hurried
        return self._server.wait(self._haste_s)

    def _stop_parts(self) -> None:
        for part in self._parts.values():
            part.request_stop()

    def _serve(self, name: str, part: Service) -> None:
        try:
            status = part.run(handle_signals=False)
        except BaseException as error:  # noqa: BLE001 - raised again where the process ends
            self._errors.append(error)
            status = 1
        if status:
            self._failed = True
            self._noticed.put(None)
        elif not self._asked:
            LOGGER.warning(
                "the %s was drained and has ended; the rest goes on",
                name,
                extra={"event": "drained", "part": name},
            )
