"""A relay process: the service that publishes, the ear that wakes it, and how both end."""

from __future__ import annotations

import logging
import os
import queue
import signal
import socket
import threading
from contextlib import suppress
from types import FrameType
from typing import Final

from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.service import Supervisor
from holdfast.runtime.kernel.wakeups import WakeupListener
from holdfast.runtime.outbox.relay import RelayOptions, RelayService
from holdfast.runtime.outbox.transport import Transport
from holdfast.store.contract import Store
from holdfast.store.tables.outbox import EVERY_TYPE, TypeFilter

LOGGER: Final = logging.getLogger("holdfast.relay")


class Relay:
    """Publishes the outbox until stopped; see `run`. Any number of relays may run."""

    def __init__(
        self,
        store: Store,
        transport: Transport,
        *,
        clock: Clock,
        chance: Chance,
        options: RelayOptions,
        types: TypeFilter = EVERY_TYPE,
    ) -> None:
        self.id = f"{socket.gethostname()}-{os.getpid()}-{chance.bits(32):08x}"
        self._transport = transport
        self._options = options
        self._store = store.reserve("relay")
        self._stop_requested = False
        self._noticed: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._fatal = False
        self._supervisor = Supervisor(clock=clock, chance=chance, on_fatal=self._abort)
        self._service = RelayService(
            self._store,
            transport,
            holder=self.id,
            clock=clock,
            chance=chance,
            options=options,
            types=types,
            on_fatal=self._abort,
        )
        self._ear = WakeupListener(self._store.listen("outbox"), heard=self._service.wake)

    def run(self, *, handle_signals: bool = True) -> int:
        """Publish until stopped; return 0 after a clean end and 1 when something was cut off.

        SIGTERM or SIGINT ends it after the batch under way. What a person has to repair before
        anything can be published is raised at once, as a `UsageError`.
        """
        if handle_signals and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_signal)
            signal.signal(signal.SIGINT, self._on_signal)
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        while not self._stop_requested:
            with suppress(queue.Empty):
                self._noticed.get(timeout=1.0)
        return self.stop()

    def start(self) -> None:
        """Look whether the transport is as it should be, then publish in threads, and return."""
        self._transport.ready()
        self._supervisor.start(self._service)
        self._supervisor.start(self._ear)
        LOGGER.info(
            "relay started",
            extra={
                "event": "relay_started",
                "relay": self.id,
                "transport": self._transport.name,
                "batch_size": self._options.batch_size,
            },
        )

    def request_stop(self) -> None:
        """Ask the relay to end. Safe in a signal handler."""
        self._stop_requested = True
        self._noticed.put(None)

    def stop(self) -> int:
        """End all threads, let go of what is leased, and return the exit status."""
        self._ear.close()
        hanging = self._supervisor.stop()
        self._transport.close()
        if not hanging:
            self._service.release()
        self._store.close()
        LOGGER.info(
            "relay stopped",
            extra={"event": "relay_stopped", "relay": self.id, "clean": not hanging},
        )
        return 1 if hanging or self._fatal else 0

    def _abort(self, why: str) -> None:
        LOGGER.critical("the relay ends: %s", why, extra={"event": "fatal", "relay": self.id})
        self._fatal = True
        self.request_stop()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.request_stop()
