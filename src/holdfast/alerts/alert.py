"""What is sent to a person: of which kind, about what, how urgent, and where to read on."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.secrecy import private_value


class AlertKind(StrEnum):
    """What alerts are about."""

    CRITICAL_FAILURE = "critical_failure"
    """A job failed for good of what no repetition cures, and perhaps all others will."""
    BLOCKED = "blocked"
    """Jobs stay queued, and none of them can succeed until a person acts."""
    ESCALATED = "escalated"
    """A job that a person sent back failed again for the same reason."""
    BREAKER_OPEN = "breaker_open"
    BREAKER_CLOSED = "breaker_closed"
    SLA_RISK = "sla_risk"
    """Jobs are near their deadlines and not done."""
    ORDERING_BROKEN = "ordering_broken"
    """A delivery was marked as sent, and its provider knows nothing of it."""
    RECONCILIATION_STOPPED = "reconciliation_stopped"
    """That of so many deliveries in a row that the lookup itself is doubted."""
    QUOTA_EXCEEDED = "quota_exceeded"
    """A provider takes no more messages until its quota of the day or the month is renewed."""
    ATTENTION = "attention"
    """Something on the list of what needs a person has been there for a while."""


class AlertLevel(StrEnum):
    """How urgent it is."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    """Good news: what was wrong is over."""


RUNBOOK: Final[Mapping[AlertKind, str]] = {
    AlertKind.CRITICAL_FAILURE: "a-failure-is-critical",
    AlertKind.BLOCKED: "jobs-are-blocked",
    AlertKind.ESCALATED: "dead-letters-pile-up",
    AlertKind.BREAKER_OPEN: "an-upstream-is-down",
    AlertKind.BREAKER_CLOSED: "an-upstream-is-down",
    AlertKind.SLA_RISK: "deadlines-are-at-risk",
    AlertKind.ORDERING_BROKEN: "a-delivery-is-unknown",
    AlertKind.RECONCILIATION_STOPPED: "a-delivery-is-unknown",
    AlertKind.QUOTA_EXCEEDED: "deliveries-are-late",
    AlertKind.ATTENTION: "something-needs-a-person",
}
"""The heading of the runbook, as a link names it, that says what to do."""

_SEEN_BY_ALL: Final = frozenset({AlertKind.SLA_RISK, AlertKind.ATTENTION})


class Alert(NamedTuple):
    """One thing that a person should know."""

    kind: AlertKind
    level: AlertLevel
    subject: str
    """What it is about, by name: a pipeline, an upstream, a provider."""
    message: str
    at: Instant
    facts: Mapping[str, Any]
    variant: str = ""
    """What distinguishes it from others of its kind about the same subject."""
    more: int = 0
    """How many like it there were besides, since the last that was sent."""

    @property
    def key(self) -> str:
        """The same for alerts of which one is enough."""
        return f"{self.kind.value}:{self.subject}:{self.variant}"

    @property
    def seen_by_all(self) -> bool:
        """Whether every process of the fleet sees the same, so that one of them is to tell it."""
        return self.kind in _SEEN_BY_ALL

    @property
    def runbook(self) -> str:
        """The heading of the runbook that says what to do."""
        return RUNBOOK[self.kind]

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values, without secrets."""
        document: dict[str, Any] = private_value(
            {
                "kind": self.kind.value,
                "level": self.level.value,
                "subject": self.subject,
                "message": self.message,
                "at": to_rfc3339(self.at),
                "more": self.more,
                "runbook": self.runbook,
                "facts": dict(self.facts),
            }
        )
        return document
