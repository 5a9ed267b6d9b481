"""A process of the fleet: what it does beside running jobs, and how it begins and ends."""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Final

from holdfast.core.job.job import Job, WorkerId
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import UnavailableError
from holdfast.runtime.attempts.attempt import Attempt, Fate
from holdfast.runtime.attempts.in_flight import InFlight
from holdfast.runtime.breakers.breakers import Breakers
from holdfast.runtime.deliveries.courier import Courier
from holdfast.runtime.deliveries.reconciler import Reconciler
from holdfast.runtime.deliveries.stage_deliveries import Notices
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.clock import Clock, StoreClock, monotonic_s, sleep_s
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.kernel.service import Service, Supervisor
from holdfast.runtime.kernel.stage import LaneKind
from holdfast.runtime.kernel.wakeups import WakeupListener
from holdfast.runtime.lanes.contract import Lane
from holdfast.runtime.maintenance.activity import ActivityWriter
from holdfast.runtime.maintenance.janitor import Janitor
from holdfast.runtime.maintenance.sweeper import ANSWER_GRACE_US, Sweeper
from holdfast.runtime.maintenance.watchdog import Watchdog
from holdfast.runtime.worker.keeper import FORGET_AFTER_US, Keeper
from holdfast.runtime.worker.parts import WorkerParts
from holdfast.runtime.worker.roster import Member
from holdfast.store.contract import Store, WorkerRow

LOGGER: Final = logging.getLogger("holdfast.worker")
STOP_S: Final = 3.0
POLL_S: Final = 0.02
WATCHDOG_LEASES: Final = 3


class FleetProcess(ABC):
    """Keeps itself on record, sweeps, removes what is old, and makes deliveries.

    What else a process does, its kind adds: a worker runs jobs, a dispatcher tells others of them.
    """

    def __init__(self, parts: WorkerParts) -> None:
        chance = parts.chance
        self.id = WorkerId(f"{socket.gethostname()}-{os.getpid()}-{chance.bits(32):08x}")
        self._parts = parts
        self._options = parts.options
        self._lease_us = int(parts.options.lease * SECOND_US)
        self._poll_us = int(parts.options.poll * SECOND_US)
        # Plain flags and a reentrant queue: a signal may interrupt any line of the main thread,
        # and an Event that is set from its own wait waits for itself.
        self._stop_requested = False
        self._hurry = False
        self._noticed: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._fatal: str | None = None
        self._state = "running"
        self._started_at: Instant | None = None
        # Each service that must not wait for another has a connection of its own.
        self._stores = {name: parts.store.reserve(name) for name in _RESERVED}
        # Handlers may use up the application's connections; renewals must not wait for one.
        self._clock: Clock = (
            parts.clock.reading(self._stores["keeper"].read_clock)
            if isinstance(parts.clock, StoreClock)
            else parts.clock
        )
        self._in_flight = InFlight()
        self._lanes: Mapping[LaneKind, Lane] = {}
        self._handlers = {(stage.pipeline, stage.name): stage for stage in parts.stages}
        self._supervisor = Supervisor(clock=self._clock, chance=chance, on_fatal=self.abort)
        self.breakers = Breakers(
            self._stores["breakers"],
            worker=self.id,
            stages=[*self._handlers.values(), *parts.dispatch.providers],
            chance=chance,
            changed=self._wake,
            signals=parts.dispatch.signals,
        )
        self._keeper = Keeper(
            self._stores["keeper"],
            holder=self.id,
            in_flight=self._in_flight,
            clock=self._clock,
            lease_us=self._lease_us,
            stop_attempt=self._stop_attempt,
            describe=self._describe,
            told_to_end=self._end_as_told,
        )
        self._sweeper = self._make_sweeper()
        self._janitor = Janitor(
            self._stores["janitor"], retention=parts.retention, chance=chance, chores=parts.chores
        )
        self._activity = ActivityWriter(self._stores["activity"], parts.counter)
        self._courier = self._make_courier()
        self._ear: WakeupListener | None = None

    @abstractmethod
    def _wake(self) -> None:
        """Have due jobs looked for at once."""

    @abstractmethod
    def _services(self) -> list[Service]:
        """Return what has turns while the process runs."""

    def _take_no_more(self) -> None:  # noqa: B027 - only what runs jobs takes any
        """Begin nothing new; called in a signal handler."""

    def _finish_taking(self) -> None:  # noqa: B027 - as above
        """Wait until what was begun before has come, for a while at most."""

    def _pending(self) -> int:
        """Return how many outcomes are not written yet."""
        return 0

    def _settler(self, store: Store) -> Settler:
        parts = self._parts
        return Settler(
            store,
            plans=PlanCache(store),
            chance=parts.chance,
            announcer=parts.announcer,
            decisions=parts.decisions,
        )

    def _make_sweeper(self) -> Sweeper:
        store, parts = self._stores["sweeper"], self._parts
        return Sweeper(
            store,
            settler=self._settler(store),
            chance=parts.chance,
            clock=self._clock,
            every_us=int(parts.options.sweep * SECOND_US),
            deadlines_every_us=int(parts.options.deadline_check * SECOND_US),
            grace_us=ANSWER_GRACE_US,
            lease_us=self._lease_us,
            knows=lambda route: (
                route.queue in parts.queues and (route.pipeline, route.stage) in self._handlers
            ),
        )

    def _notices(
        self, store: Store, *, changed: Callable[[], None] = lambda: None
    ) -> Notices | None:
        """Return what stands between jobs and deliveries; None where there are no providers."""
        providers = self._parts.dispatch.providers
        if not len(providers):
            return None
        return Notices(
            store,
            providers=providers,
            settler=self._settler(store),
            chance=self._parts.chance,
            changed=changed,
        )

    def _make_courier(self) -> Courier | None:
        """Make the courier, where there are providers."""
        store = self._stores["courier"]
        notices = self._notices(store)
        if notices is None:
            return None
        return Courier(
            store,
            holder=self.id,
            dispatch=self._parts.dispatch,
            notices=notices,
            clock=self._clock,
            chance=self._parts.chance,
            poll_us=self._poll_us,
            breakers=self.breakers,
        )

    def _common_services(self) -> list[Service]:
        """Return what every process that lasts does."""
        services: list[Service] = [self._keeper, self._activity]
        if self.breakers.watches:
            services.append(self.breakers)
        patience_s = max(WATCHDOG_LEASES * self._options.lease, 60.0)
        services.append(Watchdog(self._supervisor, patience_s=patience_s, on_fatal=self.abort))
        return services

    def _upkeep_services(self) -> list[Service]:
        """Return what one of the fleet has to do for all."""
        services: list[Service] = [self._sweeper, self._janitor]
        if self._ear is not None:
            services.append(self._ear)
        if self._courier is not None:
            reconciler = Reconciler(
                self._stores["reconciler"],
                dispatch=self._parts.dispatch,
                clock=self._clock,
                chance=self._parts.chance,
            )
            services += [self._courier, reconciler]
        return services

    def run(self, *, handle_signals: bool = True) -> int:
        """Work until stopped; return 0 after a clean end and 1 when something had to be cut off.

        The first SIGTERM or SIGINT lets running attempts finish within the grace period and
        hands the rest back; the second hands everything back at once.
        """
        if handle_signals and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_signal)
            signal.signal(signal.SIGINT, self._on_signal)
        self.start()
        while not self._stop_requested:
            with suppress(queue.Empty):
                self._noticed.get(timeout=1.0)
        return self.drain()

    def start(self) -> None:
        """Start working, in threads, and return."""
        self._started_at = self._clock.now()
        self._stores["keeper"].record_worker(self._describe(self._started_at))
        self._stores["keeper"].forget_workers(
            seen_before=Instant(self._started_at - FORGET_AFTER_US)
        )
        # Before the first claim: a breaker that is open holds for a new worker too.
        self.breakers.refresh(self._started_at)
        for service in self._services():
            self._supervisor.start(service)
        member = Member(self._lanes, self.breakers.watches, self._pending, self._breaker_of)
        self._parts.running.join(self.id, member)
        LOGGER.info(
            "worker started",
            extra={"event": "started", "worker": self.id, "queues": list(self._parts.queues)},
        )

    def _breaker_of(self, job: Job) -> str | None:
        bound = self._handlers.get((job.pipeline, job.stage))
        if bound is None or bound.upstream is None:
            return None
        return self.breakers.standing(bound.upstream.name)

    def request_stop(self) -> None:
        """Ask the worker to end; a second call asks it to hurry. Safe in a signal handler."""
        if self._stop_requested:
            self._hurry = True
        self._take_no_more()
        self._stop_requested = True
        self._noticed.put(None)

    @property
    def stop_requested(self) -> bool:
        """Whether it was asked to end, by a signal, from outside, or because it cannot go on.

        Who started it with `start` looks here, and then calls `drain`.
        """
        return self._stop_requested

    def _end_as_told(self) -> None:
        """End because that was requested from outside; repeated, it does not hurry."""
        if self._stop_requested:
            return
        LOGGER.info("worker was told to end", extra={"event": "drain_asked", "worker": self.id})
        self.request_stop()

    def abort(self, why: str) -> None:
        """End the worker because it cannot go on; what it held is handed back where possible."""
        LOGGER.critical("the worker ends: %s", why, extra={"event": "fatal", "worker": self.id})
        self._fatal = why
        self._hurry = True
        self.request_stop()

    def drain(self) -> int:
        """Finish or hand back what is running, end all threads, and return the exit status."""
        self._state = "draining"
        self._finish_taking()
        if self._courier is not None:
            self._courier.drain()
        LOGGER.info(
            "worker stops",
            extra={"event": "draining", "worker": self.id, "running": len(self._in_flight)},
        )
        for lane in self._lanes.values():
            lane.release_pending()
        self._wait_until_idle(self._options.grace)
        cut_off = self._in_flight.all()
        for attempt in cut_off:
            self._stop_attempt(attempt, Fate.SHUT_DOWN)
        self._hurry = False
        self._wait_until_idle(STOP_S)
        return self._end()

    def _end(self) -> int:
        self._parts.running.leave(self.id)
        stuck = sum(lane.close() for lane in self._lanes.values())
        left = self._under_way()
        if self._courier is not None:
            self._courier.close()
        if self._ear is not None:
            self._ear.close()
        hanging = self._supervisor.stop()
        self._state = "stopped"
        if self._keeper.name not in hanging:
            # Else its connection is in use, and a database that does not answer it has no answer
            # for this either.
            self._record_end()
        if self._activity.name not in hanging:
            self._parts.counter.flush_last(self._stores["activity"])
        for store in self._stores.values():
            store.close()
        clean = not (stuck or left or self._fatal)
        LOGGER.info(
            "worker stopped",
            extra={
                "event": "stopped",
                "worker": self.id,
                "clean": clean,
                "stuck_handlers": stuck,
                "left_to_expire": left,
            },
        )
        return 0 if clean else 1

    def _record_end(self) -> None:
        try:
            self._stores["keeper"].record_worker(self._describe(self._clock.now()))
        except UnavailableError as error:
            LOGGER.warning("could not report the end of this worker: %s", error)

    def _wait_until_idle(self, limit_s: float) -> None:
        """Wait until nothing is in flight, at most `limit_s`, and not at all in a hurry."""
        until_s = monotonic_s() + limit_s
        while self._under_way() and monotonic_s() < until_s and not self._hurry:
            sleep_s(POLL_S)

    def _under_way(self) -> int:
        return len(self._in_flight) + (0 if self._courier is None else len(self._courier))

    def _stop_attempt(self, attempt: Attempt, fate: Fate) -> None:
        self._lanes[attempt.bound.lane].stop(attempt, fate)

    def _describe(self, now: Instant) -> WorkerRow:
        return WorkerRow(
            id=self.id,
            host=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at or now,
            seen_at=now,
            queues=json.dumps(self._parts.queues),
            concurrency=self._options.concurrency,
            state=self._state,
            stages=json.dumps(sorted(f"{pipeline}/{stage}" for pipeline, stage in self._handlers)),
        )

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.request_stop()


_RESERVED: Final = (
    "claimer",
    "reporter",
    "overflow",
    "keeper",
    "sweeper",
    "breakers",
    "janitor",
    "courier",
    "reconciler",
    "activity",
)
