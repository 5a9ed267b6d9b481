"""Keeps leases alive, from a thread of its own, and notices the ones that were lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from holdfast.core.job.job import WorkerId
from holdfast.core.job.lease import Lease
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.attempts.attempt import Attempt, Fate
from holdfast.runtime.attempts.in_flight import InFlight
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Clock, monotonic_s
from holdfast.store.contract import Store, WorkerRow

LOGGER: Final = logging.getLogger("holdfast.worker")
SEEN_EVERY_US: Final = 20 * SECOND_US
"""A worker that is alive says so at least this often, however long its leases are."""
FORGET_AFTER_US: Final = 24 * 3600 * 1_000_000


class Keeper:
    """Renews every lease three times in its life.

    When renewals have been failing for most of a lease the worker takes no more jobs, and when
    they have failed for the whole of it, its attempts are stopped: others may run them now.
    """

    name = "keeper"

    def __init__(
        self,
        store: Store,
        *,
        holder: WorkerId,
        in_flight: InFlight,
        clock: Clock,
        lease_us: int,
        stop_attempt: Callable[[Attempt, Fate], None],
        describe: Callable[[Instant], WorkerRow],
        told_to_end: Callable[[], None],
    ) -> None:
        self.wake = threading.Event()
        self._store = store
        self._holder = holder
        self._in_flight = in_flight
        self._clock = clock
        self._lease_us = lease_us
        self._stop_attempt = stop_attempt
        self._describe = describe
        self._told_to_end = told_to_end
        self._renewed_at_s = monotonic_s()

    def healthy(self) -> bool:
        """Return whether renewals work, so that more leases may be taken."""
        return self._late_by() < 2 / 3

    def tick(self, now: Instant) -> Instant:
        """Renew the leases of all attempts in flight, and report this worker alive."""
        held = self._in_flight.by_lease()
        try:
            self._clock.learn()
            self._renew(held, now=self._clock.now())
        except Exception:
            # Whatever the reason: nobody else would stop what others may run by now.
            if self._late_by() >= 1:
                self._abandon("no lease could be renewed for the length of a lease")
            raise
        self._renewed_at_s = monotonic_s()
        return later(now, min(self._lease_us // 3, SEEN_EVERY_US))

    def _renew(self, held: dict[Lease, Attempt], *, now: Instant) -> None:
        failpoint.reach("renew.before")
        self._store.record_worker(self._describe(now))
        if self._store.drains.asked(self._holder):
            self._told_to_end()
        if not held:
            return
        renewed = self._store.renew(
            list(held), holder=self._holder, lease_us=self._lease_us, now=now
        )
        failpoint.reach("renew.after")
        for lease in held.keys() - renewed:
            # The lease of one that has ended is let go with its outcome, and nothing is lost.
            if not held[lease].ended:
                LOGGER.warning(
                    "lease lost", extra={"event": "lease_lost", "job_id": held[lease].job.id}
                )
                self._stop_attempt(held[lease], Fate.LOST)

    def _abandon(self, why: str) -> None:
        attempts = [attempt for attempt in self._in_flight.all() if not attempt.ended]
        if attempts:
            LOGGER.error("stopping %d attempts: %s", len(attempts), why)
        for attempt in attempts:
            self._stop_attempt(attempt, Fate.LOST)

    def _late_by(self) -> float:
        """Return the share of a lease that has gone by since the last renewal."""
        return (monotonic_s() - self._renewed_at_s) * 1_000_000 / self._lease_us
