"""Tells a fleet that does not look for jobs itself which jobs are due.

What is due is read from the jobs themselves, so nothing has to be written for it to be sent, and
nothing sent is ever relied on: a job that is still due a while later is sent again.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.outbox import Confirmed, NotTaken, Publication
from holdfast.errors import UsageError
from holdfast.runtime.breakers.breakers import Allowance
from holdfast.runtime.kernel.clock import Chance
from holdfast.store.contract import Store
from holdfast.store.tables.due import DueJob

LOGGER: Final = logging.getLogger("holdfast.dispatcher")
WINDOW: Final = 1_000
"""How many due jobs of a route and priority are looked at."""
MAX_WAITING: Final = 32
"""How many messages may wait in a queue of the broker before no more are sent there."""
ENOUGH_WAITING: Final = 8
"""Messages in every queue of the broker with which a fleet has work: no jobs are read for more."""
MAX_JOBS: Final = 100
"""How many jobs one message may name."""
SPREAD: Final = 16
"""The jobs of a backlog are sent in at least so many messages, for as many workers."""
TRIALS: Final = 10
"""How many jobs are sent while an upstream is only tried."""
AGAIN_US: Final = 10 * SECOND_US
"""After which a job that is still due is sent again, if no message waits."""
LOST_US: Final = 60 * SECOND_US
"""After which it is sent again in any case."""
BUSY_US: Final = 20_000
UNTAKEN_US: Final = 100_000
FIRST_PAUSE_US: Final = SECOND_US // 4
LONGEST_PAUSE_US: Final = 5 * SECOND_US
CARRY_S: Final = 10.0


class DueMessage(NamedTuple):
    """Says that jobs of one route are due."""

    route: Route
    job_ids: tuple[JobId, ...]


class Carrier(Protocol):
    """Brings messages to a fleet; used by one thread at a time."""

    name: str

    def waiting(self, queues: Sequence[str]) -> Mapping[str, int] | NotTaken:
        """Return how many messages wait for workers of each queue, or why none can be sent.

        What a person has to repair first is raised as a `UsageError`.
        """
        ...

    def carry(self, messages: Sequence[DueMessage], *, timeout_s: float) -> Sequence[Publication]:
        """Send messages and return what became of each, in order."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class _Told(NamedTuple):
    revision: int
    at: Instant


class Dispatcher:
    """Turn by turn, tells of what has become due; any number may run."""

    name = "dispatcher"

    def __init__(
        self,
        store: Store,
        carrier: Carrier,
        *,
        routes: Mapping[Route, str | None],
        allowances: Callable[[Instant, int], Mapping[str, Allowance]],
        chance: Chance,
        poll_us: int,
        on_fatal: Callable[[str], None],
    ) -> None:
        self.wake = threading.Event()
        self._store = store
        self._carrier = carrier
        self._routes = routes
        self._allowances = allowances
        self._chance = chance
        self._poll_us = poll_us
        self._on_fatal = on_fatal
        self._queues = sorted({route.queue for route in routes})
        self._told: dict[JobId, _Told] = {}
        self._pauses = 0
        self._paused_until = Instant(0)

    def tick(self, now: Instant) -> Instant:
        """Send what is due and was not sent yet, as far as the broker's queues have room."""
        if now < self._paused_until:
            return self._paused_until
        waiting = self._waiting()
        if isinstance(waiting, NotTaken):
            return self._pause(now, waiting)
        if min(waiting.values(), default=0) >= ENOUGH_WAITING:
            self._paused_until = later(now, UNTAKEN_US)
            return self._paused_until
        due = self._due(now)
        self._told = {job.id: told for job in due if (told := self._told.get(job.id))}
        untold = [job for job in due if self._is_news(job, waiting[job.route.queue], now)]
        messages = messages_of(untold, waiting)
        outcomes = self._carrier.carry(messages, timeout_s=CARRY_S) if messages else ()
        told_of = self._note(untold, messages, outcomes, now)
        trouble = next((each for each in outcomes if isinstance(each, NotTaken)), None)
        if trouble is not None:
            return self._pause(now, trouble)
        self._pauses = 0
        if told_of < len(untold) or len(due) >= WINDOW:
            return later(now, BUSY_US)
        return later(now, UNTAKEN_US) if due else self._next_turn(now)

    def _waiting(self) -> Mapping[str, int] | NotTaken:
        try:
            return self._carrier.waiting(self._queues)
        except UsageError as error:
            # A person has to repair it, and trying again and again would only fill the logs.
            self._on_fatal(str(error))
            raise

    def _due(self, now: Instant) -> list[DueJob]:
        """Return the due jobs that may run, without those that their upstream holds up."""
        allowances = self._allowances(now, TRIALS)
        limits = {
            name: allowance.limit
            for name, allowance in allowances.items()
            if not allowance.and_the_rest
        }
        routes = [route for route, name in self._routes.items() if limits.get(name or "", 1) > 0]
        due = self._store.due.waiting(routes, limit=WINDOW, now=now)
        if not limits:
            return due
        seen: Counter[str] = Counter()
        allowed: list[DueJob] = []
        for job in due:
            name = self._routes[job.route]
            if name is not None and name in limits:
                seen[name] += 1
                if seen[name] > limits[name]:
                    continue
            allowed.append(job)
        return allowed

    def _is_news(self, job: DueJob, waiting: int, now: Instant) -> bool:
        told = self._told.get(job.id)
        if told is None or told.revision != job.revision:
            return True
        return now - told.at >= (LOST_US if waiting else AGAIN_US)

    def _note(
        self,
        untold: Iterable[DueJob],
        messages: Sequence[DueMessage],
        outcomes: Sequence[Publication],
        now: Instant,
    ) -> int:
        """Remember what was sent, and return of how many jobs."""
        revisions = {job.id: job.revision for job in untold}
        told = 0
        for message, outcome in zip(messages, outcomes, strict=False):
            if isinstance(outcome, Confirmed):
                told += len(message.job_ids)
                for job_id in message.job_ids:
                    self._told[job_id] = _Told(revisions[job_id], now)
        if told:
            LOGGER.debug("told of %d due jobs", told, extra={"event": "told", "jobs": told})
        return told

    def _pause(self, now: Instant, trouble: NotTaken) -> Instant:
        """Leave the broker alone for a while, longer each time."""
        if self._pauses == 0:
            LOGGER.warning(
                "nobody can be told of due jobs: %s",
                trouble.error,
                extra={
                    "event": "dispatcher_held_up",
                    "trouble": trouble.trouble.value,
                    "error": trouble.error,
                },
            )
        longest_us = min(FIRST_PAUSE_US << min(self._pauses, 8), LONGEST_PAUSE_US)
        self._pauses += 1
        self._paused_until = later(now, int(longest_us * (0.5 + self._chance.roll() / 2)))
        return self._paused_until

    def _next_turn(self, now: Instant) -> Instant:
        polled = later(now, int(self._poll_us * (0.75 + self._chance.roll() / 2)))
        due_at = self._store.next_due(list(self._routes))
        return polled if due_at is None or due_at <= now else min(polled, due_at)


def messages_of(untold: Iterable[DueJob], waiting: Mapping[str, int]) -> list[DueMessage]:
    """Return jobs as messages: one job each while few are due, many while there is a backlog."""
    by_route: dict[Route, list[JobId]] = {}
    for job in untold:
        by_route.setdefault(job.route, []).append(job.id)
    room = {queue: MAX_WAITING - count for queue, count in waiting.items()}
    messages: list[DueMessage] = []
    for route, ids in by_route.items():
        size = min(math.ceil(len(ids) / SPREAD), MAX_JOBS)
        for start in range(0, len(ids), size):
            if room[route.queue] <= 0:
                break
            room[route.queue] -= 1
            messages.append(DueMessage(route, tuple(ids[start : start + size])))
    return messages
