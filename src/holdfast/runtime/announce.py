"""What is told after a commit: logs, and whoever else listens. Nothing here may fail a job."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from holdfast.core.decision import Decision, Kind
from holdfast.core.job import Job
from holdfast.runtime import failpoint

LOGGER: Final = logging.getLogger("holdfast.worker")

_LEVELS: Final = {
    Kind.ADVANCED: logging.DEBUG,
    Kind.COMPLETED: logging.DEBUG,
    Kind.SUSPENDED: logging.DEBUG,
    Kind.SNOOZED: logging.INFO,
    Kind.INTERRUPTED: logging.INFO,
    Kind.HELD: logging.INFO,
    Kind.CANCELLED: logging.INFO,
    Kind.REVIVED: logging.INFO,
    Kind.RETRIED: logging.WARNING,
    Kind.LATE: logging.WARNING,
    Kind.EXPIRED: logging.ERROR,
    Kind.FAILED: logging.ERROR,
}


class Applied(NamedTuple):
    """A decision that was committed, and the job it was decided from."""

    job: Job
    decision: Decision


Subscriber = Callable[[Applied], None]


class Announcer:
    """Logs applied decisions and hands them to subscribers."""

    def __init__(self) -> None:
        self._subscribers: tuple[Subscriber, ...] = ()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` after each applied decision of this process; returns the undoing."""
        self._subscribers = (*self._subscribers, subscriber)

        def unsubscribe() -> None:
            self._subscribers = tuple(
                other for other in self._subscribers if other is not subscriber
            )

        return unsubscribe

    def announce(self, applied: Iterable[Applied]) -> None:
        """Tell what was applied."""
        failpoint.reach("announce.before")
        lowest = LOGGER.getEffectiveLevel()
        for item in applied:
            level = _LEVELS[item.decision.entry.kind]
            if level >= lowest:
                LOGGER.log(level, "job %s", item.decision.entry.kind.value, extra=facts(item))
            for subscriber in self._subscribers:
                try:
                    subscriber(item)
                except Exception:
                    LOGGER.exception("a subscriber failed", extra={"job_id": item.job.id})
        failpoint.reach("announce.after")


def facts(applied: Applied) -> dict[str, Any]:
    """Return the fields of a log line about an applied decision."""
    entry, change = applied.decision.entry, applied.decision.change
    known: dict[str, Any] = {
        "event": entry.kind.value,
        "job_id": applied.job.id,
        "pipeline": applied.job.pipeline,
        "stage": entry.stage,
        "status": change.state.value,
        "attempt": entry.attempt,
    }
    if entry.started_at is not None and entry.holder is not None:
        known["duration_ms"] = round((entry.at - entry.started_at) / 1000, 3)
    if entry.error_class is not None:
        known["error_code"] = entry.error_class
    if entry.http_status is not None:
        known["gateway_status"] = entry.http_status
    if entry.detail is not None:
        known["detail"] = json.loads(entry.detail)
    return known
