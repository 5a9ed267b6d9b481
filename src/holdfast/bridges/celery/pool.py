"""The pools of Celery's workers: which can run jobs, how many at a time, and when they end."""

from __future__ import annotations

import mmap
import os
from typing import Any, Final

from holdfast.runtime.worker.options import WorkerOptions

GREENLETS: Final = frozenset({"eventlet", "gevent"})
THREADS: Final = frozenset({"threads", "thread"})
_MAX_THREADS: Final = 10_000


def kind_of(pool: object) -> str:
    """Return what a pool is called, which may be given by name, by path or as a class."""
    module = pool.__module__ if isinstance(pool, type) else str(pool).partition(":")[0]
    return module.rpartition(".")[2]


def refuse_greenlets(pool: object) -> None:
    """End the program where jobs would run in greenlets.

    An exception of the usual kind would be logged by Celery, which then goes on.
    """
    kind = kind_of(pool)
    if kind in GREENLETS:
        raise SystemExit(
            f"this worker cannot run holdfast's jobs in the pool {kind!r}: one job that does not "
            "give way would keep the leases of all others from being renewed. Start it with "
            "--pool threads or --pool prefork, or without holdfast's queues"
        )


def options_for(pool: object, concurrency: object) -> WorkerOptions:
    """Return how the worker of one process behaves: as many attempts at a time as Celery has tasks.

    Of a pool of threads that is its concurrency; any other has one task a process.
    """
    places = 1
    if kind_of(pool) in THREADS and isinstance(concurrency, int):
        places = min(max(concurrency, 1), _MAX_THREADS)
    return WorkerOptions(concurrency=places, processes=min(places, os.cpu_count() or 1))


class Closing:
    """Whether the program is to stop, as the processes that it has forked see it as well."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._shared[0] != 0

    def begin(self, **_: Any) -> None:  # noqa: ANN401 - what Celery says with its signal
        """Note it. Safe in a signal handler."""
        self._shared[0] = 1
