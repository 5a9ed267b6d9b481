"""`async def` handlers, on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any, Final

from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.attempts.attempt import Attempt, Fate, JobContext, Report, ReportLate
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Clock, monotonic_s
from holdfast.runtime.lanes.stepped import Stepped

LOGGER: Final = logging.getLogger("holdfast.worker")
CLOSE_TIMEOUT_S: Final = 1.0
TICK_US: Final = SECOND_US
BLOCKED_S: Final = 5.0
ABANDON_S: Final = 10.0
"""How long a handler may take to end after it was stopped."""
TURN_S: Final = 0.002
"""For how long handlers that do not wait may follow each other before those are seen to that do."""


MAX_BLOCKED_S: Final = 90.0
"""How long the loop may be blocked where no running stage has a timeout."""


class AbandonedTask(TimeoutError):
    """The attempt was stopped and did not end: its task runs on, unheard."""


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return how to make an event loop: uvloop's where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - an optional extra
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop  # type: ignore[no-any-return]


class LoopLane:
    """Runs coroutines; a handler that blocks the loop holds up its neighbours, not the leases.

    Past its timeout and a margin such a handler ends the worker, as nothing else can end it: it
    has failed, and its neighbours are handed back.
    """

    name = "loop-lane"

    def __init__(
        self,
        *,
        limit: int,
        clock: Clock,
        report: Report,
        report_late: ReportLate,
        on_fatal: Callable[[str], None],
        max_blocked_s: float = MAX_BLOCKED_S,
    ) -> None:
        self.wake = threading.Event()
        self.limit = limit
        self._clock = clock
        self._report = report
        self._report_late = report_late
        self._on_fatal = on_fatal
        self._max_blocked_s = max_blocked_s
        self._pending: deque[Attempt] = deque()
        self._lock = threading.Lock()
        self._load = 0
        self._running: set[Attempt] = set()
        self._abandoned: set[Attempt] = set()
        self._aside: set[Attempt] = set()
        self._runner: asyncio.Task[None] | None = None
        """Which begins what waits for a place; a runner that has to wait is no longer it."""
        self._answered_s = monotonic_s()
        self._warned = False
        self._ends_worker = False
        self._loop = _loop_factory()()
        self._thread = threading.Thread(target=self._serve, name="holdfast-loop", daemon=True)
        self._thread.start()

    def load(self) -> int:
        return self._load - len(self._aside)

    def leave(self, attempt: Attempt) -> bool:
        if len(self._aside) >= self.limit or attempt.ended:
            return False
        self._aside.add(attempt)
        self._fill()
        return True

    def take(self, attempt: Attempt) -> None:
        self._aside.discard(attempt)

    def stuck(self) -> int:
        return len(self._abandoned)

    def start(self, attempts: Sequence[Attempt]) -> None:
        with self._lock:
            self._load += len(attempts)
        self._loop.call_soon_threadsafe(self._accept, attempts)

    def stop(self, attempt: Attempt, fate: Fate) -> None:
        # Noted here and now: a loop that is blocked must not keep the attempt from being given up.
        attempt.fate = attempt.fate or fate
        attempt.ends_at_s = min(attempt.ends_at_s or monotonic_s(), monotonic_s())
        self._loop.call_soon_threadsafe(self._stop, attempt, fate)

    def release_pending(self) -> None:
        self._loop.call_soon_threadsafe(self._release_pending)

    def tick(self, now: Instant) -> Instant:
        """Give up attempts that outlived their time; end the worker of a loop that is blocked."""
        clock_s = monotonic_s()
        for attempt in list(self._running):
            ends_at_s = attempt.ends_at_s
            if ends_at_s is not None and clock_s > ends_at_s + ABANDON_S:
                attempt.fate = attempt.fate or Fate.TIMED_OUT
                self._give_up(attempt)
        with self._lock:
            # A worker closes its lanes before it ends the threads that look after them.
            if self._loop.is_closed():
                return later(now, TICK_US)
            self._loop.call_soon_threadsafe(self._answer)
        blocked_s = clock_s - self._answered_s
        if blocked_s > BLOCKED_S:
            self._look_at_blocked(blocked_s)
        return later(now, TICK_US)

    def _look_at_blocked(self, blocked_s: float) -> None:
        """Warn at first: after a pause of the whole process the loop may be about to answer."""
        if not self._warned:
            self._warned = True
            LOGGER.warning(
                "the event loop has been blocked for %.0f s: an async handler calls code that "
                "blocks; make it a plain function, or await it in a thread",
                blocked_s,
                extra={"event": "loop_blocked", "running": len(self._running)},
            )
            return
        past_their_time = [
            attempt
            for attempt in list(self._abandoned)
            if attempt.ends_at_s is not None and self._answered_s < attempt.ends_at_s + ABANDON_S
        ]
        is_over = past_their_time or blocked_s > self._max_blocked_s
        if is_over and not self._ends_worker:
            self._ends_worker = True
            self._end_worker(blocked_s, past_their_time or list(self._running))

    def _end_worker(self, blocked_s: float, suspects: Sequence[Attempt]) -> None:
        """Hand back what the blocked loop holds, and have the worker end."""
        stages = sorted({f"{each.job.pipeline}.{each.job.stage}" for each in suspects})
        waiting, self._pending = self._pending, deque()
        for attempt in [*self._running, *waiting]:
            attempt.fate = attempt.fate or Fate.SHUT_DOWN
            self._give_up(attempt)
        self._on_fatal(
            f"an async handler has blocked the event loop for {blocked_s:.0f} s, and cannot be "
            f"stopped ({', '.join(stages)}); make it a plain function, or await what blocks in a "
            "thread"
        )

    def close(self) -> int:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_TIMEOUT_S)
        left = len(self._running) + len(self._abandoned)
        if self._thread.is_alive():
            return max(left, 1)
        with self._lock:
            self._loop.close()
        return left

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._cancel_all())

    async def _cancel_all(self) -> None:
        """End what handlers left behind, as far as it lets itself be ended."""
        for attempt in self._running:
            attempt.fate = attempt.fate or Fate.SHUT_DOWN
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=CLOSE_TIMEOUT_S / 2)
        await self._loop.shutdown_asyncgens()

    def _answer(self) -> None:
        self._answered_s = monotonic_s()
        self._warned = False

    def _accept(self, attempts: Sequence[Attempt]) -> None:
        self._pending.extend(attempts)
        self._fill()

    def _fill(self) -> None:
        """See to it that what waits for a place is begun, as far as there are places."""
        if self._runner is None and self._pending and self._has_place():
            # Without variables of the one who fills the lane, which may be a handler.
            self._runner = self._loop.create_task(self._run_pending(), context=Context())

    def _has_place(self) -> bool:
        return len(self._running) - len(self._aside) < self.limit

    def _next(self) -> Attempt | None:
        """Return the attempt that is to begin now, if there is one, and a place for it."""
        while self._pending and self._has_place():
            attempt = self._pending.popleft()
            if attempt.fate is None:
                self._running.add(attempt)
                return attempt
            self._end(attempt, None, asyncio.CancelledError())
        return None

    async def _run_pending(self) -> None:
        """Run attempts one after the other in this task, until one of them has to wait.

        It keeps the task then, and another goes on with the rest: for handlers that do not wait,
        a task for each would cost more than they do.
        """
        task = self._runner
        if task is None:
            raise AssertionError("a runner is known before it runs")
        turn_ends_s = monotonic_s() + TURN_S
        try:
            while (attempt := self._next()) is not None:
                waiting = self._begin(attempt, task)
                if waiting is not None:
                    self._runner = None
                    self._fill()
                    await self._see_through(attempt, waiting)
                    return
                # One who stops himself must not stop those who come after him.
                if task.cancelling() or monotonic_s() > turn_ends_s:
                    return
        finally:
            if self._runner is task:
                self._runner = None
            self._fill()

    def _begin(self, attempt: Attempt, task: asyncio.Task[None]) -> Stepped | None:
        """Run an attempt as far as it goes at once; return the rest of it where it has to wait."""
        attempt.begin(self._clock)
        value: Any = None
        error: BaseException | None = None
        if attempt.fate is None:
            attempt.handle, attempt.place = task, self
            stepped = Stepped(_called(attempt))
            try:
                if stepped.waits():
                    return stepped
                value = stepped.value
            except BaseException as raised:  # noqa: BLE001 - whatever is raised ends an attempt
                error = raised
        else:
            error = asyncio.CancelledError()
        self._leave(attempt, value, error)
        # What was raised holds this frame: without this only the cycle collector would free both.
        error = None
        return None

    async def _see_through(self, attempt: Attempt, stepped: Stepped) -> None:
        """Wait for the end of an attempt, or until its time is up."""
        timer = None
        if attempt.ends_at_s is not None:
            left_s = attempt.ends_at_s - monotonic_s()
            timer = self._loop.call_later(left_s, self._stop, attempt, Fate.TIMED_OUT)
        value: Any = None
        error: BaseException | None = None
        try:
            value = await stepped
        except BaseException as raised:  # noqa: BLE001 - also cancellation ends an attempt
            error = raised
        if timer is not None:
            timer.cancel()
        self._leave(attempt, value, error)
        error = None

    def _leave(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        # The task holds the attempt: without this only the cycle collector would free them.
        attempt.handle = attempt.place = None
        self._end(attempt, value, error)

    def _stop(self, attempt: Attempt, fate: Fate) -> None:
        attempt.fate = attempt.fate or fate
        if attempt.handle is not None:
            attempt.handle.cancel()

    def _release_pending(self) -> None:
        pending, self._pending = self._pending, deque()
        for attempt in pending:
            attempt.fate = attempt.fate or Fate.SHUT_DOWN
            self._end(attempt, None, asyncio.CancelledError())

    def _end(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        """Report an attempt that ended; one that was given up before is late at most."""
        with self._lock:
            given_up = attempt.ended
            self._note_end(attempt)
            self._abandoned.discard(attempt)
        if not given_up:
            self._report(attempt, value, error)
        elif error is None:
            self._report_late(attempt, value)

    def _give_up(self, attempt: Attempt) -> None:
        """Report an attempt whose handler does not end; another may have its place."""
        with self._lock:
            if attempt.ended:
                return
            self._note_end(attempt)
            self._abandoned.add(attempt)
        self._report(attempt, None, AbandonedTask("the handler did not end when stopped"))
        self._loop.call_soon_threadsafe(self._fill)

    def _note_end(self, attempt: Attempt) -> None:
        self._running.discard(attempt)
        self._aside.discard(attempt)
        if not attempt.ended:
            attempt.ended = True
            self._load -= 1


async def _called(attempt: Attempt) -> Any:  # noqa: ANN401 - whatever the handler returns
    failpoint.reach("run.before")
    value = await attempt.bound.call(JobContext(attempt))
    failpoint.reach("run.after")
    return value
