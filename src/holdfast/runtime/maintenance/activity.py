"""Counts what this process decided, and adds it to the activity in the store now and then."""

from __future__ import annotations

import logging
import threading
from typing import Final

from holdfast.core.job.decision import Kind
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.store.contract import NewJob, Store
from holdfast.store.tables.activity import MINUTE_US, ActivityCount

LOGGER: Final = logging.getLogger("holdfast.worker")
FLUSH_EVERY_US: Final = 2 * SECOND_US
ROOM: Final = 20_000
"""How many different counters are kept for a store that cannot be reached."""

SUBMITTED: Final = "submitted"
"""What is counted of a job that was made, beside what the ledger says."""
LATE_RESULT: Final = "late_result"
"""What is counted of a result that came after the deadline and is kept, whichever came first: the
result, which then ends the job, or by the one who found that the deadline had passed."""
REFUSED_ATTEMPT: Final = "refused_attempt"
"""What is counted of an attempt that ended by its sender's mistake, beside that its job was
refused: a job may also be refused before anything ran."""
OVERDUE_S: Final = 5.0

_Key = tuple[int, str, str, str, str]


class Counter:
    """What was decided and has yet to be added to the store; safe in any thread.

    A decision costs one look into a dictionary, and nothing that happens here can fail a job.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[_Key, list[int]] = {}
        self._since_s: float | None = None

    def __call__(self, applied: Applied) -> None:
        """Count a decision."""
        job, decision = applied
        entry = decision.entry
        at, started_at = entry.at, entry.started_at
        took_us = 0 if started_at is None or entry.holder is None else at - started_at
        minute = at - at % MINUTE_US
        key = (minute, job.pipeline, entry.stage, entry.kind, entry.error_class or "")
        with self._lock:
            found = self._counts.get(key)
            if found is None:
                self._add(key, 1, took_us)
            else:
                # Not by a call: this is done for every attempt of every job.
                found[0] += 1
                found[1] += took_us
            if entry.kind is Kind.REFUSED and entry.holder is not None:
                error_class = entry.error_class or ""
                self._add((minute, job.pipeline, entry.stage, REFUSED_ATTEMPT, error_class), 1, 0)
            if decision.change.late_result is not None and job.late_result is None:
                self._add((minute, job.pipeline, entry.stage, LATE_RESULT, ""), 1, 0)

    def created(self, job: NewJob, count: int) -> bool:
        """Count jobs that were submitted together, and so are alike in all that is counted.

        Tells whether something has waited for long to be added: no worker here does it.
        """
        created_at = job.created_at
        minute = created_at - created_at % MINUTE_US
        with self._lock:
            self._add((minute, job.pipeline, job.stage, SUBMITTED, ""), count, 0)
            since_s = self._since_s
        return since_s is not None and monotonic_s() - since_s > OVERDUE_S

    def _add(self, key: _Key, count: int, took_us: int) -> None:
        found = self._counts.get(key)
        if found is not None:
            found[0] += count
            found[1] += took_us
        elif len(self._counts) < ROOM:
            self._since_s = self._since_s or monotonic_s()
            self._counts[key] = [count, took_us]

    def flush(self, store: Store) -> None:
        """Add what was counted to the store; what cannot be added is kept for the next time."""
        with self._lock:
            counts, self._counts = self._counts, {}
            self._since_s = None
        if not counts:
            return
        try:
            store.activity.add(
                [
                    ActivityCount(Instant(minute), pipeline, stage, str(kind), error_class, *both)
                    for (minute, pipeline, stage, kind, error_class), both in counts.items()
                ]
            )
        except BaseException:
            with self._lock:
                for key, (count, took_us) in counts.items():
                    self._add(key, count, took_us)
            raise

    def flush_last(self, store: Store) -> None:
        """Add the rest as the process ends; the activity is not worth failing for."""
        try:
            self.flush(store)
        except Exception as error:  # noqa: BLE001 - the jobs are done, and that is what counts
            LOGGER.warning("the last activity of this process is lost: %s", error)


class ActivityWriter:
    """Adds what this process counted to the store, every two seconds."""

    name = "activity"

    def __init__(self, store: Store, counter: Counter) -> None:
        self.wake = threading.Event()
        self._store = store
        self._counter = counter

    def tick(self, now: Instant) -> Instant:
        """Add what was counted since the last time."""
        self._counter.flush(self._store)
        return later(now, FLUSH_EVERY_US)
