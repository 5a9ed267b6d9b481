"""Whether a queue takes more jobs: a limit on how many may wait in it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from holdfast.errors import InvalidValue
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.store.contract import Store

MOST: Final = 1_000_000_000
COUNT_EVERY_S: Final = 1.0
REST: Final = 20
"""A count is followed by so many times the time it took, so that a high limit stays cheap."""
MAX_QUEUES: Final = 10_000
"""So many queues are remembered at a time."""


@dataclass(slots=True)
class _Waiting:
    counted: int
    added: int
    count_again_s: float


class Admission:
    """Lets jobs into queues that are not full.

    How many wait is counted at most once a second, and what this process adds is counted on from
    there. Several processes together may exceed the limit by what they add within that second.
    """

    def __init__(self, store: Store, *, max_queued: int) -> None:
        if type(max_queued) is not int or not 1 <= max_queued <= MOST:
            limit = f"a whole number from 1 to {MOST}, or None"
            raise InvalidValue("Holdfast", field="max_queued", value=max_queued, limit=limit)
        self.max_queued = max_queued
        self._store = store
        self._queues: dict[str, _Waiting] = {}
        self._lock = threading.Lock()
        self._first = threading.Lock()

    def admits(self, queue: str) -> bool:
        """Return whether a queue takes one more job, and count it as added if so."""
        waiting = self._waiting(queue)
        with self._lock:
            if waiting.counted + waiting.added >= self.max_queued:
                return False
            waiting.added += 1
            return True

    def _waiting(self, queue: str) -> _Waiting:
        with self._lock:
            known = self._queues.get(queue)
            if known is not None:
                now_s = monotonic_s()
                if now_s < known.count_again_s:
                    return known
                # Others go by the old number while this thread counts.
                known.count_again_s = now_s + COUNT_EVERY_S
        if known is not None:
            return self._count(queue)
        with self._first:
            # Who had to wait here finds what the first has counted.
            return self._queues.get(queue) or self._count(queue)

    def _count(self, queue: str) -> _Waiting:
        began_s = monotonic_s()
        counted = self._store.queued(queue, limit=self.max_queued)
        ended_s = monotonic_s()
        rest_s = max(COUNT_EVERY_S, REST * (ended_s - began_s))
        waiting = _Waiting(counted, 0, ended_s + rest_s)
        with self._lock:
            if len(self._queues) >= MAX_QUEUES and queue not in self._queues:
                self._queues.clear()
            self._queues[queue] = waiting
        return waiting
