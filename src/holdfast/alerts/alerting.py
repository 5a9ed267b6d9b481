"""Listens to what this process does, looks for deadlines at risk, and tells people.

All of it happens beside the jobs, in a thread of its own: it delays and fails none.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.alerts import sources
from holdfast.alerts.alert import Alert
from holdfast.alerts.debounce import Debounce
from holdfast.alerts.sinks import LogSink, Sink
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.engine.app import Holdfast
from holdfast.errors import HoldfastError, InvalidValue
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.events.signals import GUARDS, GateMoved
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s

LOGGER: Final = logging.getLogger("holdfast.alert")
ROOM: Final = 1_000
LONGEST_S: Final = 86_400.0
TURN_S: Final = 1.0
MAX_AT_RISK: Final = 500
CLOSE_S: Final = 5.0
SHARE: Final = 20
"""Reading what needs a person takes at most one part in so many of the time."""
PAUSES_S: Final = (0.5, 2.0)
"""How long a sink that failed is left alone before it is tried again."""
CONSUMER: Final = "holdfast.alerts"
"""Under which the store notes what was sent, so that one process of the fleet sends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertOptions:
    """How alerts are sent, in seconds.

    `debounce` is for how long those like one that was sent are only counted. `deadline_within` is
    how near a deadline must be to be at risk, though never more than a quarter of the job's time;
    0 looks for none. `attention_after` is for how long something has to need a person before that
    is sent; 0 is for none. `look_every` is how often it is looked.
    """

    debounce: float = 300.0
    deadline_within: float = 300.0
    attention_after: float = 60.0
    look_every: float = 15.0

    def __post_init__(self) -> None:
        for name in ("debounce", "deadline_within", "attention_after", "look_every"):
            value = getattr(self, name)
            if not 0 <= value <= LONGEST_S:
                limit = f"from 0 to {LONGEST_S:.0f} seconds"
                raise InvalidValue("AlertOptions", field=name, value=value, limit=limit)


@dataclass(slots=True)
class _Need:
    """Something that needs a person: since when it is known, and whether that was sent."""

    since: Instant
    told: bool = False


class Alerting:
    """Tells sinks what a person should know, from `start` until it is closed."""

    def __init__(
        self, app: Holdfast, *, sinks: Sequence[Sink] = (), options: AlertOptions | None = None
    ) -> None:
        self._app = app
        self._sinks = (LogSink(), *sinks)
        self._options = options or AlertOptions()
        self._debounce = Debounce(int(self._options.debounce * SECOND_US))
        self._pending: queue.Queue[Alert | None] = queue.Queue(ROOM)
        self._at_risk: frozenset[str] = frozenset()
        self._looks_at_s = 0.0
        self._needs: dict[str, _Need] = {}
        self._reads_at_s = 0.0
        self._closing = False
        self._leave: tuple[Callable[[], None], ...] = ()
        self._thread = threading.Thread(target=self._serve, name="holdfast-alerts", daemon=True)

    def start(self) -> None:
        """Listen from now on."""
        signals = self._app.signals
        self._leave = (
            self._app.subscribe(self._on_applied),
            signals.gates.listen(self._on_gate),
            GUARDS.listen(self._on_gate),
            signals.deliveries.listen(lambda changed: self._take(sources.of_delivery(changed))),
            signals.escalations.listen(
                lambda escalated: self._take(sources.of_escalation(escalated))
            ),
            signals.doubts.listen(
                lambda doubted: self._take(sources.of_doubt(doubted, now=self._now()))
            ),
        )
        self._thread.start()

    def close(self) -> None:
        """Tell what is at hand, and listen no more."""
        for leave in self._leave:
            leave()
        self._leave = ()
        self._closing = True
        if self._thread.is_alive():
            self._take_last()
            self._thread.join(CLOSE_S)

    def _now(self) -> Instant:
        return self._app.clock.now()

    def _on_gate(self, move: GateMoved) -> None:
        self._take(sources.of_gate(move, now=self._now()))

    def _on_applied(self, applied: Applied) -> None:
        if applied.decision.failure is not None:
            self._take(sources.of_decision(applied))

    def _take(self, alert: Alert | None) -> None:
        if alert is None:
            return
        try:
            self._pending.put_nowait(alert)
        except queue.Full:
            LOGGER.error(  # noqa: TRY400 - that there is no room is all there is to say
                "an alert is left out, because so many wait: %s",
                alert.message,
                extra={"event": "alert_left_out", "alert": alert.kind.value},
            )

    def _take_last(self) -> None:
        try:
            self._pending.put(None, timeout=CLOSE_S)
        except queue.Full:
            LOGGER.error(  # noqa: TRY400 - as above
                "alerts that wait are left out", extra={"event": "alert_left_out"}
            )

    def _serve(self) -> None:
        while True:
            try:
                alert = self._pending.get(timeout=TURN_S)
            except queue.Empty:
                self._turn(())
                continue
            if alert is None:
                return
            self._turn((alert,))

    def _turn(self, alerts: Sequence[Alert]) -> None:
        """Tell what has come, what was counted for long enough, and what is at risk."""
        try:
            now = self._now()
            for alert in (*alerts, *self._risks(now), *self._needed(now)):
                admitted = self._debounce.admit(alert, now)
                if admitted is not None:
                    self._tell(admitted, now)
            for alert in self._debounce.due(now):
                self._tell(alert, now)
        except Exception:
            LOGGER.exception("alerting failed, and goes on")

    def _risks(self, now: Instant) -> list[Alert]:
        options = self._options
        if not options.deadline_within or monotonic_s() < self._looks_at_s:
            return []
        self._looks_at_s = monotonic_s() + options.look_every
        within_us = int(options.deadline_within * SECOND_US)
        try:
            found = self._app.store.overdue(
                now=later(now, within_us), after=None, limit=MAX_AT_RISK
            )
        except HoldfastError as error:
            LOGGER.info("deadlines cannot be looked at: %s", error)
            return []
        near = [job for job in found if sources.near_deadline(job, within_us=within_us, now=now)]
        new = [job for job in near if job.id not in self._at_risk]
        self._at_risk = frozenset(job.id for job in near)
        return sources.of_risks(new, now=now)

    def _needed(self, now: Instant) -> list[Alert]:
        """Return what has needed a person for long enough, each once for as long as it does."""
        after_s = self._options.attention_after
        if not after_s or monotonic_s() < self._reads_at_s:
            return []
        began_s = monotonic_s()
        try:
            found = sources.needs(self._app.attention())
        except HoldfastError as error:
            LOGGER.info("what needs a person cannot be looked at: %s", error)
            return []
        finally:
            # A list that is expensive to make is made less often.
            pause_s = max(self._options.look_every, SHARE * (monotonic_s() - began_s))
            self._reads_at_s = monotonic_s() + pause_s
        self._needs = {key: self._needs.get(key) or _Need(now) for key in found}
        alerts = []
        for key, need in self._needs.items():
            if not need.told and now - need.since >= int(after_s * SECOND_US):
                need.told = True
                alerts.append(sources.of_need(found[key], now=now))
        return alerts

    def _tell(self, alert: Alert, now: Instant) -> None:
        window_us = max(int(self._options.debounce * SECOND_US), 1)
        alert_id = f"{alert.key}:{now // window_us}"
        if self._options.debounce and not self._is_ours(alert_id, now):
            if not alert.seen_by_all:
                self._debounce.take_back(alert)
            return
        token = f"alert-{self._app.chance.bits(64):016x}"
        for sink in self._sinks:
            self._send(sink, alert, token)

    def _is_ours(self, alert_id: str, now: Instant) -> bool:
        """Return whether no other process has sent this; in doubt it is sent twice."""
        try:
            return self._app.store.inbox.take(CONSUMER, alert_id[:255], now=now)
        except HoldfastError:
            return True

    def _send(self, sink: Sink, alert: Alert, alert_id: str) -> None:
        for pause_s in (*PAUSES_S, None):
            try:
                sink.send(alert, alert_id=alert_id)
            except Exception as error:  # noqa: BLE001 - any sink, any trouble
                if pause_s is not None and not self._closing:
                    sleep_s(pause_s)
                    continue
                LOGGER.error(  # noqa: TRY400 - a traceback of a webhook helps nobody
                    "an alert could not be told by %s: %s",
                    sink.name,
                    error,
                    extra={"event": "alert_not_told", "sink": sink.name, "alert": alert.kind.value},
                )
            return
