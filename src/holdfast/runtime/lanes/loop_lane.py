"""`async def` handlers, on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from holdfast.runtime import failpoint
from holdfast.runtime.attempt import Attempt, Fate, JobContext, Report
from holdfast.runtime.clock import Clock

CLOSE_TIMEOUT_S: Final = 5.0


class LoopLane:
    """Runs coroutines; a handler that blocks the loop holds up its neighbours, not the leases."""

    def __init__(self, *, limit: int, clock: Clock, report: Report) -> None:
        self.limit = limit
        self._clock = clock
        self._report = report
        self._pending: deque[Attempt] = deque()
        self._running = 0
        self._lock = threading.Lock()
        self._load = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="holdfast-loop", daemon=True)
        self._thread.start()

    def load(self) -> int:
        return self._load

    def start(self, attempts: Sequence[Attempt]) -> None:
        with self._lock:
            self._load += len(attempts)
        self._loop.call_soon_threadsafe(self._accept, attempts)

    def stop(self, attempt: Attempt, fate: Fate) -> None:
        self._loop.call_soon_threadsafe(self._stop, attempt, fate)

    def release_pending(self) -> None:
        self._loop.call_soon_threadsafe(self._release_pending)

    def close(self) -> int:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_TIMEOUT_S)
        if self._thread.is_alive():
            return max(len(self._tasks), 1)
        self._loop.close()
        return 0

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())

    def _accept(self, attempts: Sequence[Attempt]) -> None:
        self._pending.extend(attempts)
        self._fill()

    def _fill(self) -> None:
        pending = self._pending
        while pending and self._running < self.limit:
            attempt = pending.popleft()
            if attempt.fate is not None:
                self._end(attempt, None, asyncio.CancelledError())
                continue
            self._running += 1
            # A task of its own, so that what a handler puts into context variables stays there.
            task = self._loop.create_task(self._run(attempt))
            attempt.handle = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, attempt: Attempt) -> None:
        attempt.begin(self._clock.now())
        timer = None
        if attempt.ends_at_s is not None:
            timer = self._loop.call_at(attempt.ends_at_s, self._stop, attempt, Fate.TIMED_OUT)
        value: Any = None
        error: BaseException | None = None
        try:
            failpoint.reach("run.before")
            value = await attempt.bound.call(JobContext(attempt))
            failpoint.reach("run.after")
        except BaseException as raised:  # noqa: BLE001 - also cancellation and SystemExit end an attempt
            error = raised
        if timer is not None:
            timer.cancel()
        self._running -= 1
        self._end(attempt, value, error)
        if self._pending:
            self._fill()

    def _release_pending(self) -> None:
        pending, self._pending = self._pending, deque()
        for attempt in pending:
            attempt.fate = attempt.fate or Fate.SHUT_DOWN
            self._end(attempt, None, asyncio.CancelledError())

    def _stop(self, attempt: Attempt, fate: Fate) -> None:
        if attempt.fate is None:
            attempt.fate = fate
        if attempt.handle is not None:
            attempt.handle.cancel()

    def _end(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        with self._lock:
            self._load -= 1
        self._report(attempt, value, error)
