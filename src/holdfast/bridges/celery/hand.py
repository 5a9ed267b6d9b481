"""The hired worker of each process of a Celery fleet: made when first needed, so after the fork."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from typing import Final

from holdfast.bridges.celery.message import PoisonMessage
from holdfast.core.values.ids import JobId
from holdfast.errors import UnavailableError
from holdfast.runtime.dispatcher.dispatcher import DueMessage
from holdfast.runtime.dispatcher.embedded_worker import AWAY_S, EmbeddedWorker
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s

LOGGER: Final = logging.getLogger("holdfast.worker")


class Hand:
    """Runs what messages name, in this process."""

    def __init__(
        self,
        hire: Callable[[], EmbeddedWorker],
        *,
        exist: Callable[[tuple[JobId, ...]], bool],
        hold_s: float,
        closing: Callable[[], bool] = lambda: False,
    ) -> None:
        self._hire = hire
        self._exist = exist
        self._hold_s = hold_s
        self._closing = closing
        self._starting = threading.Lock()
        self._worker: EmbeddedWorker | None = None
        self._pid: int | None = None

    def run(self, message: DueMessage) -> None:
        """Run the jobs that are due, and return when they are decided or the message is held long.

        A message that names no job of this store is poison. One that comes while the store is
        away waits for it, and is let go when that takes too long: what is due is sent again.
        Once the process is to stop, nothing more is begun.
        """
        if self._closing():
            return
        ends_at_s = monotonic_s() + self._hold_s
        worker = self._worker_by(ends_at_s)
        if worker is None:
            return
        left_s = max(ends_at_s - monotonic_s(), 0.0)
        if self._run(worker, message, within_s=left_s) == 0 and self._is_strange(message):
            raise PoisonMessage("no job that it names is in this store")

    def _run(self, worker: EmbeddedWorker, message: DueMessage, *, within_s: float) -> int:
        route = message.route
        if not worker.claimer.knows(route):
            LOGGER.warning(
                "jobs of %s are left to workers that know its stage %s",
                route.pipeline,
                route.stage,
                extra={"event": "unknown_route", **route._asdict()},
            )
            return 0
        ran = worker.run_due(
            route, message.job_ids, within_s=within_s, leave_the_rest=self._closing
        )
        if worker.ended or self._closing():
            # It could not go on, and has said why, or is to end: what it holds others may run.
            self.stop()
        return ran

    def _is_strange(self, message: DueMessage) -> bool:
        """Return whether the store knows none of the jobs; while it is away, nobody can tell."""
        try:
            return not self._exist(message.job_ids)
        except UnavailableError:
            return False

    def stop(self) -> None:
        """Finish or hand back what runs in this process; the next message gets a new worker."""
        with self._starting:
            worker, self._worker = self._worker, None
        if worker is not None and self._pid == os.getpid():
            worker.request_stop()
            worker.drain()

    def _worker_by(self, ends_at_s: float) -> EmbeddedWorker | None:
        """Return the worker, once the store is there; None when that takes too long."""
        worker = self._worker
        if worker is not None and worker.ended:
            # It is to end, or could not go on, while no message was at hand.
            self.stop()
        while True:
            try:
                return self._hired()
            except UnavailableError as error:
                if monotonic_s() >= ends_at_s or self._closing():
                    LOGGER.warning("a message is let go, because the store is away: %s", error)
                    return None
            sleep_s(AWAY_S)

    def _hired(self) -> EmbeddedWorker:
        with self._starting:
            worker = self._worker
            if worker is not None and self._pid == os.getpid():
                return worker
            self._worker = self._hire()
            self._pid = os.getpid()
            self._worker.start()
            return self._worker
