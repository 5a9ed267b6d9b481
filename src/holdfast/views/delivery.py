"""Deliveries as people read them: without messages, and with recipients masked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.log import DeliveryAttempt, Outcome
from holdfast.core.job.job import JobState
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.runtime.deliveries.log import masked
from holdfast.secrecy import redacted
from holdfast.store.tables.audit import AuditEntry
from holdfast.views.job import HistoryLine

TAKEN_BACK: Final = "delivery_taken_back"
"""The event of a job's history: a delivery was marked as sent, and the provider had nothing."""
SENT_AGAIN: Final = "delivery_sent_again"
_RECALLED: Final = {Outcome.ACCEPTED: SENT_AGAIN, Outcome.FOUND: SENT_AGAIN}


class DeliveryView(NamedTuple):
    """A delivery as it was read at an instant; the row itself is `delivery`."""

    delivery: Delivery
    read_at: Instant

    @property
    def id(self) -> str:
        """The delivery's id."""
        return self.delivery.id

    @property
    def state(self) -> DeliveryState:
        """How far the recipient has been notified."""
        return self.delivery.state

    @property
    def recipient(self) -> str:
        """The recipient as it may be shown."""
        return masked(self.delivery.recipient)

    @property
    def error(self) -> str | None:
        """What went wrong last, in a sentence."""
        if self.delivery.error is None:
            return None
        return str(json.loads(self.delivery.error).get("message", ""))

    def to_document(self) -> dict[str, Any]:
        """Return all of it as plain JSON values, the message aside."""
        row = self.delivery
        return {
            "id": row.id,
            "subject": redacted(row.subject),
            "recipient": self.recipient,
            "version": row.version,
            "provider": row.provider,
            "token": row.token,
            "state": row.state.value,
            "required": row.required,
            "job_id": row.job_id,
            "stage": row.stage,
            "attempts": row.attempts,
            "lookups": row.lookups,
            "created_at": to_rfc3339(row.created_at),
            "run_at": to_rfc3339(row.run_at),
            "began_at": _moment(row.began_at),
            "notification_id": row.notification_id,
            "notified_at": _moment(row.notified_at),
            "checked_at": _moment(row.checked_at),
            "holder": row.holder,
            "error_class": row.error_class,
            "error": self.error,
        }


def attempt_document(line: DeliveryAttempt) -> dict[str, Any]:
    """Return a line of a delivery's log as plain JSON values."""
    return {
        "at": to_rfc3339(line.at),
        "attempt": line.attempt,
        "outcome": line.outcome.value,
        "error_class": line.error_class,
        "http_status": line.http_status,
        "notification_id": line.notification_id,
        "worker": line.holder,
        "message": line.message,
    }


def history_of(
    deliveries: Iterable[Delivery], log: Mapping[str, Sequence[DeliveryAttempt]]
) -> list[HistoryLine]:
    """Return what a job's history says of deliveries whose marks were taken back.

    The job is complete by then and stays so: that a recipient was not reached after all, and when
    it was reached, are lines of its history.
    """
    lines: list[HistoryLine] = []
    for delivery in deliveries:
        taken_back = False
        for entry in log[delivery.id]:
            event = _RECALLED.get(entry.outcome) if taken_back else None
            if entry.outcome is Outcome.TAKEN_BACK:
                event, taken_back = TAKEN_BACK, True
            if event is not None:
                lines.append(_history_line(delivery, entry, event))
                taken_back = event == TAKEN_BACK
    # Of one instant, what was taken back comes before what was sent again.
    return sorted(lines, key=lambda line: (line.at, line.event != TAKEN_BACK))


def _history_line(delivery: Delivery, entry: DeliveryAttempt, event: str) -> HistoryLine:
    meta: dict[str, Any] = {
        "delivery_id": delivery.id,
        "recipient": masked(delivery.recipient),
        "provider": delivery.provider,
        "state": JobState.COMPLETE.value,
    }
    if entry.error_class is not None:
        meta["error_code"] = entry.error_class
    return HistoryLine(entry.at, event, delivery.stage or "", entry.attempt, meta)


class DeliveryReport(NamedTuple):
    """A delivery, its log, the oldest first, and what was done about it, the latest first."""

    view: DeliveryView
    log: list[DeliveryAttempt]
    actions: list[AuditEntry]

    def to_document(self) -> dict[str, Any]:
        """Return all of it as plain JSON values."""
        log = [attempt_document(line) for line in self.log]
        actions = [
            {
                "at": to_rfc3339(entry.at),
                "by": entry.done_by,
                "action": entry.action,
                "reason": entry.reason,
            }
            for entry in self.actions
        ]
        return {**self.view.to_document(), "log": log, "actions": actions}


@dataclass(slots=True)
class Reconciliation:
    """What came of comparing deliveries with what their providers know."""

    checked: int = 0
    confirmed: int = 0
    """Marked as sent, and known to the provider."""
    found: int = 0
    """Not marked, and known to the provider: marked now, and not sent again."""
    missing: int = 0
    """The provider knows nothing of them."""
    sent_again: list[str] = field(default_factory=list)
    """Marked as sent without evidence: cleared, to be sent again."""
    unavailable: int = 0
    """The provider did not say."""
    skipped: int = 0
    """Their provider cannot be asked about them, or is not known here."""
    stopped: bool = False
    """Whether so many marks had no evidence that the provider itself is doubted."""

    def to_document(self) -> dict[str, Any]:
        """Return all of it as plain JSON values."""
        return {
            "checked": self.checked,
            "confirmed": self.confirmed,
            "found": self.found,
            "missing": self.missing,
            "sent_again": list(self.sent_again),
            "unavailable": self.unavailable,
            "skipped": self.skipped,
            "stopped": self.stopped,
        }


def _moment(instant: Instant | None) -> str | None:
    return None if instant is None else to_rfc3339(instant)
