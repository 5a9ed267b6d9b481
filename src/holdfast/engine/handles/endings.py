"""Wakes handles that wait for their jobs to end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from typing import Final

from holdfast.core.job.job import ENDED
from holdfast.core.values.ids import JobId
from holdfast.runtime.events.announce import Applied, Subscriber
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from holdfast.store.contract import Listener, Store

LOGGER: Final = logging.getLogger("holdfast.engine")
FIRST_LOOK_S: Final = 0.05
"""How soon it is looked without a notification, where none can come: through a pooler."""
LONGEST_GAP_S: Final = 1.0
"""Between two looks while nothing is notified."""
KEPT_S: Final = 10.0
"""How long the listener stays after the last wait."""
TROUBLE_S: Final = 0.5

Subscribe = Callable[[Subscriber], Callable[[], None]]


class Endings:
    """Futures that are done when a job has ended, here or in another process.

    While a handle waits, one thread listens for all of them. What this process decides itself is
    known at once; what others decide is notified, and looked for at the latest after a second.
    """

    def __init__(self, store: Callable[[], Store], *, subscribe: Subscribe) -> None:
        self._store = store
        self._subscribe = subscribe
        self._changed = threading.Condition()
        self._waiting: dict[JobId, list[Future[None]]] = {}
        self._newest_s = 0.0
        self._thread: threading.Thread | None = None
        self._listener: Listener | None = None
        self._closed = False

    @contextmanager
    def watch(self, job_id: JobId) -> Iterator[Future[None]]:
        """Lend a future that is done once the job has ended; one that has before is not noticed.

        So read the job inside the block, and wait only if it has not ended.
        """
        future: Future[None] = Future()
        with self._changed:
            self._waiting.setdefault(job_id, []).append(future)
            self._newest_s = monotonic_s()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="holdfast-endings", daemon=True
                )
                self._thread.start()
        try:
            yield future
        finally:
            self._leave(job_id, future)

    def close(self) -> None:
        """Stop listening."""
        with self._changed:
            self._closed = True
            listener, thread = self._listener, self._thread
        if listener is not None:
            listener.close()
        if thread is not None:
            thread.join(KEPT_S)

    def _leave(self, job_id: JobId, future: Future[None]) -> None:
        with self._changed:
            waiting = self._waiting.get(job_id, [])
            if future in waiting:
                waiting.remove(future)
                if not waiting:
                    del self._waiting[job_id]

    def _run(self) -> None:
        unsubscribe = self._subscribe(self._on_applied)
        try:
            while self._goes_on():
                try:
                    self._listen()
                except Exception as error:  # noqa: BLE001 - the handles read their jobs again
                    LOGGER.debug("endings of jobs could not be read: %s", error)
                    sleep_s(TROUBLE_S)
        finally:
            unsubscribe()

    def _listen(self) -> None:
        listener = self._store().listen("ended")
        with self._changed:
            self._listener = listener
        try:
            while self._goes_on():
                listener.wait(self._gap_s())
                self._look()
        finally:
            with self._changed:
                self._listener = None
            listener.close()

    def _goes_on(self) -> bool:
        """Return whether a handle waits or has waited lately; if not, the thread ends."""
        with self._changed:
            is_idle = not self._waiting and monotonic_s() - self._newest_s > KEPT_S
            if self._closed or is_idle:
                self._thread = None
                return False
            return True

    def _gap_s(self) -> float:
        """Return how long to wait for a notification: longer, the longer no wait has begun."""
        since_s = monotonic_s() - self._newest_s
        return min(max(since_s, FIRST_LOOK_S), LONGEST_GAP_S)

    def _look(self) -> None:
        """Read those jobs that are waited for, and wake the handles of those that have ended."""
        with self._changed:
            wanted = list(self._waiting)
        if not wanted:
            return
        found = self._store().get(wanted)
        for job_id in wanted:
            job = found.get(job_id)
            # Reading a job that was removed meanwhile says so.
            if job is None or job.state in ENDED:
                self._wake(job_id)

    def _on_applied(self, applied: Applied) -> None:
        if applied.decision.change.state in ENDED:
            self._wake(applied.job.id)

    def _wake(self, job_id: JobId) -> None:
        with self._changed:
            futures = self._waiting.pop(job_id, [])
        for future in futures:
            with suppress(InvalidStateError):  # its handle may have given up just now
                future.set_result(None)
