"""Services are ticks; the supervisor owns their threads, their sleep and their end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, Protocol

from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import StoreCorrupt, UnavailableError
from holdfast.runtime.kernel.clock import Chance, Clock, monotonic_s

LOGGER: Final = logging.getLogger("holdfast.worker")
BACKOFF_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
JOIN_S: Final = 3.0


class Service(Protocol):
    """Does a piece of work and says when it wants the next turn; `wake` asks for it sooner."""

    name: str
    wake: threading.Event

    def tick(self, now: Instant) -> Instant:
        """Work once, and return the instant of the next turn."""
        ...


class Running:
    """A service in its thread, and when it last finished a turn."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.thread: threading.Thread | None = None
        self.last_turn_s = monotonic_s()
        self.sleeps_until_s = monotonic_s()
        self.failures = 0

    def overdue_s(self) -> float:
        """Return how long ago the service should have finished its turn."""
        return monotonic_s() - max(self.last_turn_s, self.sleeps_until_s)

    def alive(self) -> bool:
        """Return whether its thread runs."""
        return self.thread is not None and self.thread.is_alive()


class Supervisor:
    """Runs each service in a thread of its own until stopped."""

    def __init__(self, *, clock: Clock, chance: Chance, on_fatal: Callable[[str], None]) -> None:
        self._clock = clock
        self._chance = chance
        self._on_fatal = on_fatal
        self._running: list[Running] = []
        self._stopping = threading.Event()

    @property
    def running(self) -> list[Running]:
        """The services under supervision."""
        return list(self._running)

    @property
    def stopping(self) -> bool:
        """Whether the services are to end."""
        return self._stopping.is_set()

    def start(self, service: Service) -> None:
        """Give a service its thread."""
        running = Running(service)
        running.thread = threading.Thread(
            target=self._serve, args=(running,), name=f"holdfast-{service.name}", daemon=True
        )
        running.thread.start()
        # Not before: the watchdog would take a thread that has yet to start for one that has died.
        self._running.append(running)

    def stop(self) -> list[str]:
        """End all services and return the names of those that did not end in time."""
        self._stopping.set()
        for running in self._running:
            running.service.wake.set()
        until_s = monotonic_s() + JOIN_S
        for running in self._running:
            if running.thread is not None:
                running.thread.join(max(until_s - monotonic_s(), 0.0))
        return [running.service.name for running in self._running if running.alive()]

    def _serve(self, running: Running) -> None:
        service = running.service
        while not self._stopping.is_set():
            try:
                now = self._clock.now()
                until = service.tick(now)
                if running.failures:
                    LOGGER.info("%s works again", service.name, extra={"service": service.name})
                    running.failures = 0
            except StoreCorrupt as error:
                self._on_fatal(str(error))
                return
            except Exception as error:  # noqa: BLE001 - a service that fails goes on, more slowly
                self._pause(running, error)
                continue
            running.last_turn_s = monotonic_s()
            if until <= now:
                continue
            sleep_s = (until - self._clock.now()) / SECOND_US
            if sleep_s > 0:
                running.sleeps_until_s = running.last_turn_s + sleep_s
                service.wake.wait(min(sleep_s, threading.TIMEOUT_MAX))
                # Woken early, its turn begins now, and is overdue from now on.
                running.sleeps_until_s = monotonic_s()
            service.wake.clear()

    def _pause(self, running: Running, error: Exception) -> None:
        """Wait longer after each failure, with jitter so that a fleet does not return as one."""
        running.failures += 1
        outage = isinstance(error, UnavailableError)
        if running.failures == 1 or not outage:
            LOGGER.warning(
                "%s failed: %s",
                running.service.name,
                error,
                exc_info=None if outage else error,
                extra={"service": running.service.name},
            )
        running.last_turn_s = monotonic_s()
        longest_s = BACKOFF_S[min(running.failures, len(BACKOFF_S)) - 1]
        self._stopping.wait(longest_s * (0.5 + self._chance.roll() / 2))
