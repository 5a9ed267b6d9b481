"""What the store knows of the whole fleet, read on request, and not too often."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple

from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import SECOND_US, Instant, to_datetime
from holdfast.engine.app import Holdfast
from holdfast.errors import HoldfastError
from holdfast.metrics import names
from holdfast.metrics.counted import LOOK_BACK_US, Counted
from holdfast.metrics.families import counter, gauge, untyped
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.store.contract import QueueCounts, WorkerRow
from holdfast.store.statements.statement_timeout import reads_within
from holdfast.store.tables.dead_letters import LetterStanding
from holdfast.store.tables.deliveries import DeliveryStanding
from holdfast.store.tables.outbox import Standing
from holdfast.views.activity import ActivityRow
from holdfast.views.upstream import UpstreamView

LOGGER: Final = logging.getLogger("holdfast.metrics")
FRESH_S: Final = 1.0
SHARE: Final = 0.1
"""Of the time, at most this share goes into reading: a store with millions of jobs takes long."""
MAX_STALE_S: Final = 60.0
SILENT_US: Final = 60 * SECOND_US
"""A worker that was not seen for so long is counted as silent."""
_GATES: Final = {Gate.CLOSED: 0, Gate.HALF_OPEN: 1, Gate.OPEN: 2}
_OPEN_DELIVERIES: Final = frozenset({DeliveryState.INTENT, DeliveryState.SENDING})


class Read(NamedTuple):
    """Everything that one look at the store has brought."""

    at: Instant
    queues: list[QueueCounts]
    workers: list[WorkerRow]
    upstreams: list[UpstreamView]
    letters: LetterStanding
    deliveries: list[DeliveryStanding]
    outbox: Standing
    activity: list[ActivityRow]
    took_s: float


class FleetMetrics(Collector):
    """Reads the store for scrapers; those who come at the same time share one look."""

    def __init__(self, app: Holdfast, *, fresh_s: float = FRESH_S) -> None:
        self._app = app
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._read: Read | None = None
        self._fresh_until_s = 0.0
        self._up = False
        self._counted = Counted()
        self._looked_at: Instant | None = None

    def collect(self) -> Iterator[Family]:
        """Yield the families of the fleet; of a store that does not answer, only that."""
        with self._lock:
            self._refresh()
            read = self._read if self._up else None
            yield gauge(names.STORE_UP, [((), int(self._up))])
            if read is None:
                return
            families = [*_of_queues(read), *_of_upstreams(read), *_of_effects(read)]
            families.extend(self._of_counters())
        yield from families
        yield gauge(names.WORKERS, _workers(read))
        yield gauge(names.STORE_READ, [((), read.took_s)])

    def look(self) -> None:
        """Read the store if it is time: counters begin with the first look."""
        with self._lock:
            self._refresh()

    def _refresh(self) -> None:
        now_s = monotonic_s()
        if now_s < self._fresh_until_s:
            return
        try:
            # Not as a page is read: it is seldom, and a long queue is no store that is away.
            with reads_within(None):
                self._read = read = self._look(now_s)
        except HoldfastError as error:
            if self._up:
                LOGGER.warning("no figures of the fleet: %s", error)
            self._up = False
            self._fresh_until_s = monotonic_s() + self._fresh_s
            return
        self._up = True
        self._counted.begin(self._app.pipelines)
        self._counted.take(read.activity)
        self._looked_at = read.at
        if self._fresh_s:
            pause_s = max(self._fresh_s, min(read.took_s / SHARE, MAX_STALE_S))
            self._fresh_until_s = monotonic_s() + pause_s

    def _look(self, began_s: float) -> Read:
        app = self._app
        store, now = app.store, app.clock.now()
        # Whatever has come since the last look, and minutes that others may still add to.
        since = Instant(min(self._looked_at or now, now) - LOOK_BACK_US)
        return Read(
            at=now,
            queues=app.queues(),
            workers=app.workers(),
            upstreams=app.upstreams.list(),
            letters=store.letters.standing(),
            deliveries=store.deliveries.standing(),
            outbox=app.outbox.standing(),
            activity=app.activity(since=to_datetime(since)),
            took_s=monotonic_s() - began_s,
        )

    def _of_counters(self) -> Iterator[Family]:
        for metric, sums in self._counted.sums.items():
            make = untyped if metric.kind is names.Kind.UNTYPED else counter
            yield make(metric, sums.items())


def _of_queues(read: Read) -> Iterator[Family]:
    jobs = [
        ((state, each.queue), count)
        for each in read.queues
        for state, count in (
            ("queued", each.due + each.scheduled),
            ("processing", each.processing + each.expired),
            ("waiting", each.waiting),
        )
    ]
    yield gauge(names.JOBS, jobs)
    yield gauge(names.QUEUE_DEPTH, [((each.queue,), each.due) for each in read.queues])
    yield gauge(names.JOBS_ACTIVE, [((each.queue,), each.processing) for each in read.queues])
    ages = [((each.queue,), _age_s(each.oldest_due_at, read.at)) for each in read.queues]
    yield gauge(names.QUEUE_AGE, ages)
    paused = [((each.queue,), int(each.paused_at is not None)) for each in read.queues]
    yield gauge(names.QUEUE_PAUSED, paused)


def _of_upstreams(read: Read) -> Iterator[Family]:
    views = read.upstreams
    yield gauge(names.BREAKER_STATE, [((view.name,), _GATES[view.gate]) for view in views])
    yield counter(names.BREAKER_OPEN, [((view.name,), view.open_s) for view in views])
    paused = [((view.name,), (view.paused_until or 0) / SECOND_US) for view in views]
    yield gauge(names.RATE_LIMITED, paused)
    rates = [(view.name, view.rate) for view in views if view.rate is not None]
    yield counter(names.RATE_CALLS, [((name,), each.begun) for name, each in rates])
    limits = [((name,), each.rate.calls / each.rate.per) for name, each in rates]
    yield gauge(names.RATE_LIMIT, limits)
    yield gauge(names.RATE_ROOM, [((name,), each.room) for name, each in rates])
    yield gauge(names.RATE_SHORT, [((name,), int(each.is_short)) for name, each in rates])


def _of_effects(read: Read) -> Iterator[Family]:
    """Yield what jobs left behind: letters, deliveries, messages."""
    stuck = sum(row.deliveries for row in read.deliveries if row.state not in _OPEN_DELIVERIES)
    waiting = [("job", read.letters.waiting), ("delivery", stuck), ("message", read.outbox.failed)]
    yield gauge(names.DEAD_LETTERS, [((kind,), count) for kind, count in waiting])
    yield gauge(names.ESCALATED, [((), read.letters.escalated)])
    states = [((row.state.value, row.provider), row.deliveries) for row in read.deliveries]
    yield gauge(names.DELIVERIES, states)
    lags: dict[str, float] = {}
    for row in read.deliveries:
        if row.state in _OPEN_DELIVERIES:
            lags[row.provider] = max(lags.get(row.provider, 0.0), _age_s(row.oldest_at, read.at))
    yield gauge(names.DELIVERY_LAG, [((provider,), lag) for provider, lag in lags.items()])
    messages = [("pending", read.outbox.pending), ("failed", read.outbox.failed)]
    yield gauge(names.OUTBOX, [((status,), count) for status, count in messages])
    yield gauge(names.OUTBOX_LAG, [((), _age_s(read.outbox.oldest_pending_at, read.at))])


def _workers(read: Read) -> list[tuple[tuple[str], float]]:
    counts = {"running": 0, "draining": 0, "silent": 0}
    for row in read.workers:
        if row.state == "stopped":
            continue
        state = "silent" if read.at - row.seen_at > SILENT_US else row.state
        counts[state] = counts.get(state, 0) + 1
    return [((state,), count) for state, count in counts.items()]


def _age_s(since: Instant | None, now: Instant) -> float:
    return 0.0 if since is None else max(now - since, 0) / SECOND_US
