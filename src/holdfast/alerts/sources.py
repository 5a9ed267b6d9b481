"""From what happened to what a person learns of it. Most of what happens is sent to nobody."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from holdfast.alerts.alert import Alert, AlertKind, AlertLevel
from holdfast.core.delivery.event import Postponed
from holdfast.core.delivery.lifecycle import breaks_order
from holdfast.core.job.job import Job
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.failure import Category, Failure, Severity
from holdfast.core.values.instant import SECOND_US, Instant, to_rfc3339
from holdfast.engine.attention import Attention, Kind, Urgency
from holdfast.runtime.deliveries.log import masked
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.events.signals import (
    DeliveryChanged,
    GateMoved,
    LetterEscalated,
    MarksDoubted,
)

SHARE_OF_SPAN: Final = 0.25
"""A job is not near its deadline before this share of its time is all that is left."""
SAMPLE: Final = 5


def of_decision(applied: Applied) -> Alert | None:
    """Return the alert about a job that failed for good, if it is critical, or that is blocked.

    There is none about other attempts that are made again: they may yet succeed.
    """
    job, decision = applied
    failure = decision.failure
    kind = None if failure is None else _kind_of(failure, ends=decision.buries)
    if failure is None or kind is None:
        return None
    entry = decision.entry
    return Alert(
        kind,
        AlertLevel.CRITICAL,
        subject=job.pipeline,
        message=f"{job.pipeline}: {failure.error_class} in stage {entry.stage}: {failure.message}",
        at=entry.at,
        facts={
            "job_id": job.id,
            "stage": entry.stage,
            "attempt": entry.attempt,
            "error_class": failure.error_class,
            "category": failure.category.value,
            "http_status": failure.http_status,
        },
        variant=f"{entry.stage}:{failure.error_class}",
    )


def _kind_of(failure: Failure, *, ends: bool) -> AlertKind | None:
    critical = failure.category is Category.CRITICAL or failure.severity is Severity.CRITICAL
    if not ends:
        # An upstream that is away comes back by itself, and its breaker is an alert of its own.
        return AlertKind.BLOCKED if critical and not failure.spends_attempt else None
    return AlertKind.CRITICAL_FAILURE if critical else None


def of_gate(move: GateMoved, *, now: Instant) -> Alert | None:
    """Return the alert about a breaker that opened, or closed again."""
    before, after = move
    was, is_now = before.forced or before.gate, after.forced or after.gate
    if was is is_now or is_now is Gate.HALF_OPEN:
        return None
    facts = {
        "breaker": is_now.value,
        "open_until": None if after.open_until is None else to_rfc3339(after.open_until),
        "reopenings": after.reopenings,
        "forced_by": after.forced_by,
        "forced_reason": after.forced_reason,
        "reason": after.reason,
        "failures": [call.to_document() for call in after.failures],
    }
    if is_now is Gate.OPEN:
        message = f"the breaker of {after.name} has opened{_why(after)}"
        return Alert(AlertKind.BREAKER_OPEN, AlertLevel.WARNING, after.name, message, now, facts)
    message = f"the breaker of {after.name} has closed"
    return Alert(AlertKind.BREAKER_CLOSED, AlertLevel.INFO, after.name, message, now, facts)


def _why(upstream: UpstreamState) -> str:
    """Return why a breaker opened, with the last failure, after a colon."""
    if upstream.forced is not None:
        reason = f": {upstream.forced_reason}" if upstream.forced_reason else ""
        return f": held open by {upstream.forced_by}{reason}"
    last = upstream.failures[-1] if upstream.failures else None
    said = "" if last is None else f"; the last: {last.error_class}: {last.message}"
    return f": {upstream.reason}{said}" if upstream.reason else ""


def of_delivery(changed: DeliveryChanged) -> Alert | None:
    """Return the alert about a mark without evidence, or about a quota that is used up."""
    before, event, after = changed
    if isinstance(event, Postponed):
        until = to_rfc3339(after.run_at)
        return Alert(
            AlertKind.QUOTA_EXCEEDED,
            AlertLevel.WARNING,
            subject=after.provider,
            message=f"{after.provider}: the quota of the {event.window} is used up until {until}",
            at=after.updated_at,
            facts={
                "delivery_id": after.id,
                "job_id": after.job_id,
                "window": event.window.value,
                "until": until,
            },
            variant=event.window.value,
        )
    if not breaks_order(before, after):
        return None
    return Alert(
        AlertKind.ORDERING_BROKEN,
        AlertLevel.CRITICAL,
        subject=after.provider,
        message=f"a delivery was marked as sent, and {after.provider} knows nothing of it",
        at=after.updated_at,
        facts={
            "delivery_id": after.id,
            "job_id": after.job_id,
            "recipient": masked(after.recipient),
            "version": after.version,
        },
    )


def of_escalation(escalated: LetterEscalated) -> Alert:
    """Return the alert about a letter that came back."""
    letter = escalated.letter
    return Alert(
        AlertKind.ESCALATED,
        AlertLevel.CRITICAL,
        subject=letter.pipeline,
        message=f"{letter.pipeline}: replayed, and failed again of {letter.error_class}",
        at=letter.updated_at,
        facts={
            "job_id": letter.id,
            "stage": letter.stage,
            "error_class": letter.error_class,
            "fingerprint": letter.fingerprint,
            "deaths": letter.deaths,
        },
        variant=letter.fingerprint,
    )


def of_doubt(doubted: MarksDoubted, *, now: Instant) -> Alert:
    """Return the alert about a provider whose lookups are doubted."""
    return Alert(
        AlertKind.RECONCILIATION_STOPPED,
        AlertLevel.CRITICAL,
        subject=doubted.provider,
        message=f"{doubted.provider} knows nothing of {doubted.missing} deliveries in a row",
        at=now,
        facts={"missing": doubted.missing},
    )


_TOLD_ELSEWHERE: Final = frozenset({Kind.ESCALATED, Kind.BREAKER_OPEN})
"""What has an alert of its own at the instant at which it happens."""


def needs(found: Iterable[Attention]) -> dict[str, Attention]:
    """Return what needs a person and has no alert of its own, by what tells one from another."""
    entries = (entry for entry in found if entry.kind not in _TOLD_ELSEWHERE)
    return {f"{entry.kind.value}:{entry.subject}": entry for entry in entries}


def of_need(entry: Attention, *, now: Instant) -> Alert:
    """Return the alert about something that has needed a person for a while."""
    critical = entry.urgency is Urgency.CRITICAL
    return Alert(
        AlertKind.ATTENTION,
        AlertLevel.CRITICAL if critical else AlertLevel.WARNING,
        subject=entry.subject,
        message=entry.sentence,
        at=now,
        facts={
            "kind": entry.kind.value,
            "whose": entry.whose.value,
            "advice": entry.advice,
            "command": entry.action.command,
            "page": entry.page,
            "count": entry.count,
            "since": None if entry.since is None else to_rfc3339(entry.since),
        },
        variant=entry.kind.value,
    )


def near_deadline(job: Job, *, within_us: int, now: Instant) -> bool:
    """Return whether little time is left for a job that is not done; one too late is no risk."""
    if job.deadline_at is None or job.deadline_at <= now:
        return False
    share_us = int((job.deadline_at - job.created_at) * SHARE_OF_SPAN)
    return job.deadline_at - now <= min(within_us, share_us)


def of_risks(jobs: Iterable[Job], *, now: Instant) -> list[Alert]:
    """Return one alert for each pipeline about its jobs that are near their deadlines."""
    by_pipeline: dict[str, list[Job]] = {}
    for job in jobs:
        by_pipeline.setdefault(job.pipeline, []).append(job)
    return [_of_risk(pipeline, found, now) for pipeline, found in sorted(by_pipeline.items())]


def _of_risk(pipeline: str, jobs: list[Job], now: Instant) -> Alert:
    nearest = min(Instant(job.deadline_at or now) for job in jobs)
    left_s = (nearest - now) / SECOND_US
    what = "1 job is" if len(jobs) == 1 else f"{len(jobs)} jobs are"
    return Alert(
        AlertKind.SLA_RISK,
        AlertLevel.WARNING,
        subject=pipeline,
        message=f"{pipeline}: {what} not done, and the first deadline is in {left_s:.0f} s",
        at=now,
        facts={
            "jobs": len(jobs),
            "sample": [job.id for job in jobs[:SAMPLE]],
            "nearest_deadline": to_rfc3339(nearest),
        },
    )
