"""What a process keeps of its decisions beside the jobs: activity, and records of failures."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from functools import partial

from holdfast.engine.opening import OpenedStore
from holdfast.error_log import ErrorLog
from holdfast.runtime.events.announce import Announcer, Applied
from holdfast.runtime.kernel.background import BackgroundQueue
from holdfast.runtime.maintenance.activity import Counter
from holdfast.store.contract import NewJob


class OwnActivity:
    """Adds what `counter` has counted to the store: now and then, and when the process ends."""

    def __init__(self, opened: OpenedStore) -> None:
        self.counter = Counter()
        self._opened = opened
        self._adding = BackgroundQueue[bool](lambda _: self.flush(), name="figures")
        # A program that ends without closing has its last counts added as well.
        flush = weakref.WeakMethod(self._flush_last)
        self._at_exit = partial(_flush_at_exit, flush, os.getpid())
        atexit.register(self._at_exit)

    def created(self, job: NewJob, count: int) -> None:
        """Count new jobs; a program that only submits has no worker that adds them up."""
        if self.counter.created(job, count):
            self._adding(True)  # noqa: FBT003 - that it is time is all there is to say

    def flush(self) -> None:
        """Add what was counted now."""
        self.counter.flush(self._opened.open())

    def close(self) -> None:
        """Add the rest; nothing more is counted."""
        self._adding.close()
        atexit.unregister(self._at_exit)
        self._flush_last()

    def _flush_last(self) -> None:
        if self._opened.is_open:
            self.counter.flush_last(self._opened.unopened)


class ErrorLogs:
    """Has records written of attempts that fail: beside the jobs, so that it delays none."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer
        self._queues: list[BackgroundQueue[Applied]] = []

    def add(self, error_log: ErrorLog) -> None:
        """Have a record of every attempt that fails from now on written to `error_log`.

        That is done beside the jobs and after the fact: it delays and fails none.
        """
        keeping = BackgroundQueue(error_log.keep, name="error-log")
        self._queues.append(keeping)
        self._announcer.subscribe(lambda item: keeping(item) if item.decision.failure else None)

    def flush(self) -> None:
        """Wait until the records of the failures so far are written, for a few seconds at most."""
        for keeping in self._queues:
            keeping.close()


def _flush_at_exit(flush: weakref.WeakMethod[Callable[[], None]], pid: int) -> None:
    flush_of_app = flush()
    # A fork has inherited the counts, but they are its parent's to add.
    if flush_of_app is not None and os.getpid() == pid:
        flush_of_app()
