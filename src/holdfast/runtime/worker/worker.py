"""A worker: claims jobs, runs their stages, and ends without losing any."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.kernel.service import Service
from holdfast.runtime.kernel.stage import LaneKind
from holdfast.runtime.kernel.wakeups import WakeupListener
from holdfast.runtime.lanes.contract import Lane
from holdfast.runtime.lanes.loop_lane import LoopLane
from holdfast.runtime.lanes.process_lane import ProcessLane
from holdfast.runtime.lanes.thread_lane import ThreadLane
from holdfast.runtime.worker.claimer import Claimer
from holdfast.runtime.worker.overflow import OverflowReporter
from holdfast.runtime.worker.parts import WorkerParts
from holdfast.runtime.worker.process import STOP_S, FleetProcess
from holdfast.runtime.worker.reporter import Reporter


class Worker(FleetProcess):
    """Runs jobs until stopped; see `run`."""

    _claimer_kind: type[Claimer] = Claimer
    claimer: Claimer

    def __init__(self, parts: WorkerParts) -> None:
        super().__init__(parts)
        store = self._stores["claimer"]
        self._reporter = self._make_reporter(Reporter)
        self._reporters = [self._reporter]
        if self._stores[OverflowReporter.name].writes_at_once:
            overflow = self._make_reporter(OverflowReporter)
            self._reporter.overflow_to(overflow)
            self._reporters.append(overflow)
        self._lanes = self._make_lanes()
        self.claimer = self._claimer_kind(
            store,
            holder=self.id,
            lanes=self._lanes,
            handlers=self._handlers,
            queues=parts.queues,
            plans=PlanCache(store),
            in_flight=self._in_flight,
            chance=parts.chance,
            lease_us=self._lease_us,
            poll_us=self._poll_us,
            healthy=self._keeper.healthy,
            breakers=self.breakers,
            callback_key=parts.callback_key,
            secrets=parts.secrets,
            begun=parts.announcer.begun,
        )
        for reporter in self._reporters:
            reporter.claimer = self.claimer
        self._ear = WakeupListener(store.listen(), heard=self.claimer.wake)

    def _make_reporter(self, kind: type[Reporter]) -> Reporter:
        store, parts = self._stores[kind.name], self._parts
        return kind(
            store,
            clock=self._clock,
            chance=parts.chance,
            announcer=parts.announcer,
            in_flight=self._in_flight,
            lease_us=self._lease_us,
            breakers=self.breakers,
            notices=self._notices(store, changed=self._wake_courier),
            decisions=parts.decisions,
        )

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

    def _wake(self) -> None:
        self.claimer.wake.set()

    def _wake_courier(self) -> None:
        if self._courier is not None:
            self._courier.wake.set()

    def _job_services(self) -> list[Service]:
        """Return what runs jobs."""
        lanes = [lane for lane in self._lanes.values() if isinstance(lane, LoopLane | ThreadLane)]
        return [*self._reporters, self.claimer, *lanes]

    def _services(self) -> list[Service]:
        return [*self._common_services(), *self._job_services(), *self._upkeep_services()]

    def _pending(self) -> int:
        return self._reporter.pending()

    def _take_no_more(self) -> None:
        self.claimer.draining = True

    def _finish_taking(self) -> None:
        for reporter in self._reporters:
            reporter.draining = True
        # A claim under way would otherwise bring jobs after the lanes were emptied.
        self.claimer.drain(STOP_S)
