"""A worker: claims jobs, runs their stages, and ends without losing any."""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Final

from holdfast.core.job.job import Job, WorkerId
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retention import Retention
from holdfast.errors import UnavailableError
from holdfast.runtime.attempts.attempt import Attempt, Fate
from holdfast.runtime.attempts.in_flight import InFlight
from holdfast.runtime.attempts.job_secrets import NO_SECRETS, JobSecrets
from holdfast.runtime.breakers.breakers import Breakers
from holdfast.runtime.deliveries.courier import Courier
from holdfast.runtime.deliveries.dispatch import Dispatch
from holdfast.runtime.events.announce import Announcer
from holdfast.runtime.events.decision_messages import NONE_KNOWN, DecisionMessages
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.clock import Chance, Clock, StoreClock, monotonic_s, sleep_s
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.kernel.service import Service, Supervisor
from holdfast.runtime.kernel.stage import BoundStage, LaneKind
from holdfast.runtime.kernel.wakeups import WakeupListener
from holdfast.runtime.lanes.contract import Lane
from holdfast.runtime.lanes.loop_lane import LoopLane
from holdfast.runtime.lanes.process_lane import ProcessLane
from holdfast.runtime.lanes.thread_lane import ThreadLane
from holdfast.runtime.maintenance.janitor import Chore, Janitor
from holdfast.runtime.maintenance.sweeper import ANSWER_GRACE_US, Sweeper
from holdfast.runtime.maintenance.tally import Counter, Tallying
from holdfast.runtime.maintenance.watchdog import Watchdog
from holdfast.runtime.worker.claimer import Claimer
from holdfast.runtime.worker.crew import WorkersCrew
from holdfast.runtime.worker.keeper import FORGET_AFTER_US, Keeper
from holdfast.runtime.worker.options import WorkerOptions
from holdfast.runtime.worker.overflow import OverflowReporter
from holdfast.runtime.worker.reporter import Reporter
from holdfast.runtime.worker.roster import OF_THIS_PROCESS, Member
from holdfast.store.contract import Store, WorkerRow

LOGGER: Final = logging.getLogger("holdfast.worker")
STOP_S: Final = 3.0
POLL_S: Final = 0.02
WATCHDOG_LEASES: Final = 3


class Worker:
    """Runs until stopped; see `run`."""

    _claimer_kind: type[Claimer] = Claimer
    claimer: Claimer

    def __init__(
        self,
        store: Store,
        *,
        stages: Sequence[BoundStage],
        queues: Sequence[str],
        clock: Clock,
        chance: Chance,
        announcer: Announcer,
        counter: Counter,
        options: WorkerOptions,
        retention: Retention,
        callback_key: Callable[[], bytes],
        secrets: JobSecrets = NO_SECRETS,
        dispatch: Dispatch | None = None,
        decisions: DecisionMessages = NONE_KNOWN,
        chores: Sequence[Chore] = (),
    ) -> None:
        self.id = WorkerId(f"{socket.gethostname()}-{os.getpid()}-{chance.bits(32):08x}")
        self._options = options
        self._lease_us = int(options.lease * SECOND_US)
        self._retention = retention
        self._chores = tuple(chores)
        self._counter = counter
        self._callback_key = callback_key
        self._secrets = secrets
        self._dispatch = dispatch or Dispatch()
        self._decisions = decisions
        self._queues = tuple(queues)
        self._chance = chance
        # Plain flags and a reentrant queue: a signal may interrupt any line of the main thread,
        # and an Event that is set from its own wait waits for itself.
        self._stop_requested = False
        self._hurry = False
        self._noticed: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._fatal: str | None = None
        self._state = "running"
        self._started_at: Instant | None = None
        # Each service that must not wait for another has a connection of its own.
        self._stores = {name: store.reserve(name) for name in _RESERVED}
        # Handlers may use up the application's connections; renewals must not wait for one.
        self._clock: Clock = (
            clock.reading(self._stores["keeper"].read_clock)
            if isinstance(clock, StoreClock)
            else clock
        )
        self._plans = PlanCache(self._stores["claimer"])
        self._in_flight = InFlight()
        self._handlers = {(stage.pipeline, stage.name): stage for stage in stages}
        self._supervisor = Supervisor(clock=self._clock, chance=chance, on_fatal=self.abort)
        self._build(announcer)

    def _build(self, announcer: Announcer) -> None:
        stores = self._stores
        self._reporter = self._make_reporter(Reporter, announcer)
        self._reporters = [self._reporter]
        if stores[OverflowReporter.name].writes_at_once:
            overflow = self._make_reporter(OverflowReporter, announcer)
            self._reporter.overflow_to(overflow)
            self._reporters.append(overflow)
        self._keeper = Keeper(
            stores["keeper"],
            holder=self.id,
            in_flight=self._in_flight,
            clock=self._clock,
            lease_us=self._lease_us,
            stop_attempt=self._stop_attempt,
            describe=self._describe,
            told_to_end=self._end_as_told,
        )
        self._lanes = self._make_lanes()
        self.breakers = Breakers(
            stores["breakers"],
            worker=self.id,
            stages=[*self._handlers.values(), *self._dispatch.providers],
            chance=self._chance,
            changed=self._wake_claimer,
        )
        announcer.breaker_of = self._breaker_of
        self.claimer = self._claimer_kind(
            stores["claimer"],
            holder=self.id,
            lanes=self._lanes,
            handlers=self._handlers,
            queues=self._queues,
            plans=self._plans,
            in_flight=self._in_flight,
            chance=self._chance,
            lease_us=self._lease_us,
            poll_us=int(self._options.poll * SECOND_US),
            healthy=self._keeper.healthy,
            breakers=self.breakers,
            callback_key=self._callback_key,
            secrets=self._secrets,
            begun=announcer.begun,
        )
        self._sweeper = self._make_sweeper(announcer)
        self._janitor = Janitor(
            stores["janitor"], retention=self._retention, chance=self._chance, chores=self._chores
        )
        self._tallying = Tallying(stores["tally"], self._counter)
        self._ear = WakeupListener(stores["claimer"].listen(), heard=self.claimer.wake)
        self._courier = self._make_courier(announcer)

    def _make_reporter(self, kind: type[Reporter], announcer: Announcer) -> Reporter:
        store = self._stores[kind.name]
        return kind(
            store,
            clock=self._clock,
            chance=self._chance,
            announcer=announcer,
            in_flight=self._in_flight,
            lease_us=self._lease_us,
            crew=WorkersCrew(self),
            notices=self._dispatch.notices(
                store,
                chance=self._chance,
                announcer=announcer,
                decisions=self._decisions,
                changed=self._wake_courier,
            ),
            decisions=self._decisions,
        )

    def _make_sweeper(self, announcer: Announcer) -> Sweeper:
        store = self._stores["sweeper"]
        settler = Settler(
            store,
            plans=PlanCache(store),
            chance=self._chance,
            announcer=announcer,
            decisions=self._decisions,
        )
        return Sweeper(
            store,
            settler=settler,
            chance=self._chance,
            clock=self._clock,
            every_us=int(self._options.sweep * SECOND_US),
            deadlines_every_us=int(self._options.deadline_check * SECOND_US),
            grace_us=ANSWER_GRACE_US,
            lease_us=self._lease_us,
            knows=lambda route: (
                route.queue in self._queues and (route.pipeline, route.stage) in self._handlers
            ),
        )

    def _make_courier(self, announcer: Announcer) -> Courier | None:
        """Make the courier, where there are providers."""
        store = self._stores["courier"]
        notices = self._dispatch.notices(
            store, chance=self._chance, announcer=announcer, decisions=self._decisions
        )
        if notices is None:
            return None
        return self._dispatch.courier(
            store,
            notices=notices,
            holder=self.id,
            clock=self._clock,
            chance=self._chance,
            poll_us=int(self._options.poll * SECOND_US),
            breakers=self.breakers,
        )

    def _breaker_of(self, job: Job) -> str | None:
        bound = self._handlers.get((job.pipeline, job.stage))
        if bound is None or bound.upstream is None:
            return None
        return self.breakers.standing(bound.upstream.name)

    def _wake_courier(self) -> None:
        if self._courier is not None:
            self._courier.wake.set()

    def _wake_claimer(self) -> None:
        self.claimer.wake.set()

    def _make_lanes(self) -> Mapping[LaneKind, Lane]:
        """Make the lanes that the handlers need, and no others."""
        needed = {stage.lane for stage in self._handlers.values()}
        options, clock = self._options, self._clock
        report, report_late = self._reporter.report, self._reporter.report_late
        lanes: dict[LaneKind, Lane] = {}
        if LaneKind.LOOP in needed:
            lanes[LaneKind.LOOP] = LoopLane(
                limit=options.concurrency,
                clock=clock,
                report=report,
                report_late=report_late,
                on_fatal=self.abort,
            )
        if LaneKind.THREAD in needed:
            lanes[LaneKind.THREAD] = ThreadLane(
                limit=options.concurrency, clock=clock, report=report, report_late=report_late
            )
        if LaneKind.PROCESS in needed:
            lanes[LaneKind.PROCESS] = ProcessLane(
                limit=options.processes, clock=clock, report=report
            )
        return lanes

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
        member = Member(self._lanes, self.breakers.watches, self._reporter.pending)
        OF_THIS_PROCESS.join(self.id, member)
        LOGGER.info(
            "worker started",
            extra={"event": "started", "worker": self.id, "queues": list(self._queues)},
        )

    def _services(self) -> list[Service]:
        services: list[Service] = [self._keeper, *self._reporters, self.claimer, self._sweeper]
        services += [self._ear, self._janitor, self._tallying, *self._courier_services()]
        if self.breakers.watches:
            services.append(self.breakers)
        services.extend(
            lane for lane in self._lanes.values() if isinstance(lane, LoopLane | ThreadLane)
        )
        services.append(self._watchdog())
        return services

    def _courier_services(self) -> list[Service]:
        """Return what makes deliveries and compares them with what providers know."""
        if self._courier is None:
            return []
        store = self._stores["reconciler"]
        reconciler = self._dispatch.reconciler(store, clock=self._clock, chance=self._chance)
        return [self._courier, reconciler]

    def _watchdog(self) -> Watchdog:
        patience_s = max(WATCHDOG_LEASES * self._options.lease, 60.0)
        return Watchdog(self._supervisor, patience_s=patience_s, on_fatal=self.abort)

    def request_stop(self) -> None:
        """Ask the worker to end; a second call asks it to hurry. Safe in a signal handler."""
        if self._stop_requested:
            self._hurry = True
        self.claimer.draining = True
        self._stop_requested = True
        self._noticed.put(None)

    @property
    def stop_requested(self) -> bool:
        """Whether it was asked to end, by a signal, from outside, or because it cannot go on.

        Whoever started it with `start` looks here, and then calls `drain`.
        """
        return self._stop_requested

    def _end_as_told(self) -> None:
        """End because somebody said so from outside; asked again and again, it does not hurry."""
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
        for reporter in self._reporters:
            reporter.draining = True
        # A claim under way would otherwise bring jobs after the lanes were emptied.
        self.claimer.drain(STOP_S)
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
        OF_THIS_PROCESS.leave(self.id)
        stuck = sum(lane.close() for lane in self._lanes.values())
        left = self._under_way()
        if self._courier is not None:
            self._courier.close()
        self._ear.close()
        hanging = self._supervisor.stop()
        self._state = "stopped"
        if self._keeper.name not in hanging:
            # Else its connection is in use, and a database that does not answer it has no answer
            # for this either.
            self._record_end()
        if self._tallying.name not in hanging:
            self._counter.flush_last(self._stores["tally"])
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
            queues=json.dumps(self._queues),
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
    "tally",
)
