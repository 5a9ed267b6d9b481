"""What this process saw itself: durations, calls of upstreams, the store, and its workers."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Final

from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.delivery.lifecycle import breaks_order
from holdfast.core.values.instant import SECOND_US
from holdfast.engine.app import Holdfast
from holdfast.errors import UnavailableError
from holdfast.metrics import names
from holdfast.metrics.accumulators import Distributions, Sums
from holdfast.metrics.attempts import AttemptTimes
from holdfast.metrics.families import counter, gauge, histogram
from holdfast.runtime.events.signals import GUARDS, CallEnded, DeliveryChanged, GateMoved
from holdfast.runtime.worker.roster import Roster

OUTCOMES: Final = {True: "fine", False: "failed", None: "no evidence"}
_ENDED: Final = frozenset({DeliveryState.SENT, DeliveryState.FAILED, DeliveryState.UNKNOWN})


class ProcessMetrics(Collector):
    """Listens from when it is made until it is closed."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app
        self._attempts = AttemptTimes()
        self._calls = Distributions()
        self._operations = Distributions()
        self._store_errors = Sums()
        self._moves = Sums()
        self._deliveries = Sums()
        self._broken = Sums()
        self._leave: tuple[Callable[[], None], ...] = (
            app.subscribe(self._attempts),
            app.signals.calls.listen(self._on_call),
            app.signals.gates.listen(self._on_gate),
            GUARDS.listen(self._on_gate),
            app.signals.deliveries.listen(self._on_delivery),
            app.unopened_store.timings.observe(self._on_operation),
        )

    def close(self) -> None:
        """Stop listening."""
        for leave in self._leave:
            leave()

    def collect(self) -> Iterator[Family]:
        """Yield the families of this process."""
        yield histogram(names.ATTEMPT_SECONDS, self._attempts.took())
        yield histogram(names.PROCESSING_SECONDS, self._attempts.whole())
        yield histogram(names.WAIT_SECONDS, self._attempts.waited())
        yield histogram(names.CALL_SECONDS, self._calls.histograms())
        yield histogram(names.STORE_SECONDS, self._operations.histograms())
        yield counter(names.STORE_ERRORS, self._store_errors.items())
        yield counter(names.BREAKER_MOVES, self._moves.items())
        yield counter(names.DELIVERIES_ENDED, self._deliveries.items())
        yield counter(names.ORDERING_BROKEN, self._broken.items())
        yield from _of_workers(self._app.running)
        built = (version("holdfast"), platform.python_version())
        yield gauge(names.BUILD, [(built, 1)])

    def _on_call(self, call: CallEnded) -> None:
        self._calls.add((call.upstream, OUTCOMES[call.fine]), call.took_us)

    def _on_gate(self, move: GateMoved) -> None:
        if move.before.gate is not move.after.gate:
            self._moves.add((move.after.name, move.after.gate.value))

    def _on_delivery(self, changed: DeliveryChanged) -> None:
        before, _, after = changed
        if breaks_order(before, after):
            self._broken.add((after.provider,))
        elif before.state is not after.state and after.state in _ENDED:
            self._deliveries.add((after.provider, after.state.value))

    def _on_operation(self, operation: str, took_s: float, error: BaseException | None) -> None:
        self._operations.add((operation,), int(took_s * SECOND_US))
        if isinstance(error, UnavailableError):
            self._store_errors.add((operation,))


def _of_workers(running: Roster) -> Iterator[Family]:
    slots: dict[str, int] = {}
    busy: dict[str, int] = {}
    budgets: dict[str, float] = {}
    stuck = unwritten = 0
    for member in running.members():
        for kind, lane in member.lanes.items():
            slots[kind.value] = slots.get(kind.value, 0) + lane.limit
            busy[kind.value] = busy.get(kind.value, 0) + lane.load()
            stuck += lane.stuck()
        unwritten += member.pending()
        for name, watch in member.watches.items():
            left = watch.retries_left()
            if left is not None:
                budgets[name] = min(budgets.get(name, left), left)
    yield gauge(names.SLOTS, [((lane,), count) for lane, count in slots.items()])
    yield gauge(names.SLOTS_BUSY, [((lane,), count) for lane, count in busy.items()])
    yield gauge(names.RETRY_BUDGET, [((name,), left) for name, left in budgets.items()])
    yield gauge(names.STUCK, [((), stuck)])
    yield gauge(names.UNWRITTEN, [((), unwritten)])
