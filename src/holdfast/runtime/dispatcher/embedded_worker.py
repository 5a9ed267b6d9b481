"""A worker in a foreign process: it is handed due jobs, and runs those."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.errors import UnavailableError
from holdfast.runtime.dispatcher.embedded_claimer import NONE_YET, EmbeddedClaimer, Rest, Taken
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from holdfast.runtime.kernel.service import Service
from holdfast.runtime.worker.worker import Worker

LOGGER: Final = logging.getLogger("holdfast.worker")
LOOK_S: Final = 0.2
"""How often a wait looks whether it still has a reason."""
APART_US: Final = SECOND_US // 10
"""How far the clocks of a worker and of who tells it of jobs may be apart."""
AWAY_S: Final = 0.5
"""How long to wait for a store that is away before asking it again."""


class EmbeddedWorker(Worker):
    """Keeps leases and reports outcomes; looking for jobs and sweeping are left to a dispatcher."""

    _claimer_kind = EmbeddedClaimer
    claimer: EmbeddedClaimer

    def run_due(
        self,
        route: Route,
        job_ids: Sequence[JobId],
        *,
        within_s: float,
        leave_the_rest: Callable[[], bool] = lambda: False,
    ) -> int:
        """Run those of the jobs that are due; return how many, once all are decided.

        After `within_s` seconds, or once it is to leave the rest, it returns earlier: what runs by
        then goes on under its lease, and what has not begun stays due.
        """
        ends_at_s = monotonic_s() + within_s
        left = list(job_ids)
        looked_at = self._clock.now()
        ran = 0
        while not self._stop_requested and monotonic_s() < ends_at_s and not leave_the_rest():
            mark = self.claimer.mark()
            taken = self._take(route, left) if left else NONE_YET
            ran += taken.leased
            del left[: len(left) if taken.rest is Rest.LEFT else taken.asked]
            if taken.asked:
                continue
            if not left and not any(job_id in self._in_flight for job_id in job_ids):
                if ran >= len(job_ids) or not self._wait_until_due(route, job_ids, looked_at):
                    break
                left = list(job_ids)
                looked_at = self._clock.now()
            look_s = self.claimer.until_room_s(route, now=self._clock.now()) or LOOK_S
            self.claimer.wait_past(mark, min(LOOK_S, look_s, max(ends_at_s - monotonic_s(), 0.0)))
        return ran

    def _wait_until_due(self, route: Route, job_ids: Sequence[JobId], looked_at: Instant) -> bool:
        """Wait for a job that is about to be due, and return whether there was one.

        The sender of the ids goes by another clock; a job left alone here would wait for seconds.
        A job that became due since `looked_at`, when the takes of this round began, counts: the
        take may have come just too early for it.
        """
        try:
            due_at = self.claimer.first_due_at(route, job_ids, now=looked_at)
        except UnavailableError:
            return False
        now = self._clock.now()
        if due_at is None or due_at > later(now, APART_US):
            return False
        sleep_s(max(due_at - now, 0) / SECOND_US)
        return True

    def _take(self, route: Route, left: Sequence[JobId]) -> Taken:
        try:
            return self.claimer.take(route, left, now=self._clock.now())
        except UnavailableError as error:
            LOGGER.warning("jobs that are due wait for the store: %s", error)
            sleep_s(AWAY_S)
            return NONE_YET

    def _services(self) -> list[Service]:
        return [*self._common_services(), *self._job_services()]

    @property
    def ended(self) -> bool:
        """Whether it is to stop, or could not go on."""
        return self._stop_requested
