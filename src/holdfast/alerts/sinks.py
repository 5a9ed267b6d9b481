"""Where alerts are sent."""

from __future__ import annotations

import logging
from typing import Final, Protocol

from holdfast.alerts.alert import Alert, AlertLevel

LOGGER: Final = logging.getLogger("holdfast.alert")
_LEVELS: Final = {
    AlertLevel.CRITICAL: logging.CRITICAL,
    AlertLevel.WARNING: logging.WARNING,
    AlertLevel.INFO: logging.INFO,
}


class Sink(Protocol):
    """Takes alerts; whatever it raises is logged, and the alert tried again a few times."""

    name: str

    def send(self, alert: Alert, *, alert_id: str) -> None:
        """Send an alert; `alert_id` is the same for every try."""
        ...


class LogSink:
    """Writes alerts to the log, by the logger `holdfast.alert`."""

    name = "log"

    def send(self, alert: Alert, *, alert_id: str) -> None:
        """Write a line."""
        document = alert.to_document()
        message = document.pop("message")
        LOGGER.log(
            _LEVELS[alert.level],
            "%s",
            message,
            extra={
                "event": "alert",
                "alert": document["kind"],
                "alert_id": alert_id,
                "subject": document["subject"],
                "more": document["more"],
                "runbook": document["runbook"],
                **document["facts"],
            },
        )
