"""One alert is enough: those like it are counted for a while, and sent together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from holdfast.alerts.alert import Alert
from holdfast.core.values.instant import Instant

MAX_KEYS: Final = 1_000


@dataclass(slots=True)
class _Told:
    at: Instant
    last: Alert
    more: int = 0


class Debounce:
    """Lets the first of its kind through, then none for a while, then one for all the others."""

    def __init__(self, window_us: int) -> None:
        self._window_us = window_us
        self._told: dict[str, _Told] = {}

    def admit(self, alert: Alert, now: Instant) -> Alert | None:
        """Return the alert if it is to be sent now; else it is counted."""
        told = self._told.get(alert.key)
        if told is not None and now - told.at < self._window_us:
            self._count(told, alert)
            return None
        more = alert.more + (0 if told is None else told.more)
        self._note(alert, now)
        return alert._replace(more=more)

    def take_back(self, alert: Alert) -> None:
        """Count an alert that was admitted and is sent by nobody, because others were quicker."""
        told = self._told.get(alert.key)
        if told is not None:
            self._count(told, alert)

    def due(self, now: Instant) -> list[Alert]:
        """Return, for each kind that was counted for long enough, the last with their number."""
        found: list[Alert] = []
        for key, told in list(self._told.items()):
            if now - told.at < self._window_us:
                continue
            if told.more:
                found.append(told.last._replace(more=told.more - 1))
                self._told[key] = _Told(now, told.last)
            else:
                del self._told[key]
        return found

    @staticmethod
    def _count(told: _Told, alert: Alert) -> None:
        told.more += 1 + alert.more
        told.last = alert

    def _note(self, alert: Alert, now: Instant) -> None:
        if len(self._told) >= MAX_KEYS:
            # What was sent longest ago is forgotten: then one of its kind is sent too early.
            del self._told[min(self._told, key=lambda key: self._told[key].at)]
        self._told[alert.key] = _Told(now, alert)
