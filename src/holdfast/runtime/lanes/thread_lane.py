"""Plain functions, in threads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from contextvars import Context
from typing import Any, Final

from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, later
from holdfast.runtime.attempts.attempt import Attempt, Fate, JobContext, Report, ReportLate
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Clock, monotonic_s

CLOSE_TIMEOUT_S: Final = 1.0
TICK_US: Final = SECOND_US // 20


class AbandonedThread(TimeoutError):
    """The attempt's time was up, and a thread cannot be killed: it runs on, unheard."""


class ThreadLane:
    """Runs plain functions.

    One that outlives its time is reported and given up; a new thread takes its place, and what
    it still returns is at most a late result.
    """

    name = "thread-lane"

    def __init__(
        self, *, limit: int, clock: Clock, report: Report, report_late: ReportLate
    ) -> None:
        self.wake = threading.Event()
        self.limit = limit
        self._clock = clock
        self._report = report
        self._report_late = report_late
        self._pending: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: set[Attempt] = set()
        self._load = 0
        self._threads = 0
        self._abandoned = 0

    def load(self) -> int:
        return self._load

    @property
    def abandoned(self) -> int:
        """How many threads still run a handler whose attempt was given up."""
        return self._abandoned

    def stuck(self) -> int:
        return self._abandoned

    def start(self, attempts: Sequence[Attempt]) -> None:
        with self._lock:
            self._load += len(attempts)
            wanted = min(self._load, self.limit) - self._threads
            self._threads += max(wanted, 0)
        for _ in range(wanted):
            self._add_thread()
        for attempt in attempts:
            self._pending.put(attempt)

    def stop(self, attempt: Attempt, fate: Fate) -> None:
        with self._lock:
            if attempt.fate is None:
                attempt.fate = fate
            running = attempt in self._running
            if running:
                self._give_up(attempt)
        if running:
            self._add_thread()
            self._end(attempt, None, AbandonedThread(f"the attempt was {fate.value}"))

    def tick(self, now: Instant) -> Instant:
        """Stop the attempts whose time is up."""
        clock_s = monotonic_s()
        with self._lock:
            timed = [attempt for attempt in self._running if attempt.ends_at_s is not None]
        for attempt in timed:
            if attempt.ends_at_s is not None and attempt.ends_at_s <= clock_s:
                self.stop(attempt, Fate.TIMED_OUT)
        return later(now, TICK_US) if timed else FAR_FUTURE

    def release_pending(self) -> None:
        while True:
            try:
                attempt = self._pending.get_nowait()
            except queue.Empty:
                return
            if attempt is None:
                continue
            attempt.fate = attempt.fate or Fate.SHUT_DOWN
            with self._lock:
                self._load -= 1
            self._end(attempt, None, AbandonedThread("the worker stops"))

    def close(self) -> int:
        for _ in range(self._threads):
            self._pending.put(None)
        return len(self._running) + self._abandoned

    def _add_thread(self) -> None:
        threading.Thread(target=self._serve, name="holdfast-thread", daemon=True).start()

    def _give_up(self, attempt: Attempt) -> None:
        self._running.discard(attempt)
        self._load -= 1
        self._abandoned += 1

    def _serve(self) -> None:
        while (attempt := self._pending.get()) is not None:
            if not self._run(attempt):
                return

    def _run(self, attempt: Attempt) -> bool:
        """Run one attempt; return False when this thread was given up meanwhile."""
        value: Any = None
        error: BaseException | None = None
        attempt.begin(self._clock)
        with self._lock:
            self._running.add(attempt)
        if attempt.ends_at_s is not None:
            self.wake.set()
        try:
            if attempt.fate is not None:
                error = AbandonedThread(f"the attempt was {attempt.fate.value} before it began")
            else:
                failpoint.reach("run.before")
                # A context of its own, so that nothing in context variables reaches the next job.
                value = Context().run(attempt.bound.call, JobContext(attempt))
                failpoint.reach("run.after")
        except BaseException as raised:  # noqa: BLE001 - also SystemExit ends only the attempt
            error = raised
        with self._lock:
            given_up = attempt not in self._running
            if given_up:
                self._abandoned -= 1
            else:
                self._running.discard(attempt)
                self._load -= 1
        if not given_up:
            self._end(attempt, value, error)
        elif error is None:
            self._report_late(attempt, value)
        # What was raised holds this frame: without this only the cycle collector would free both.
        error = None
        return not given_up

    def _end(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        attempt.ended = True
        self._report(attempt, value, error)
