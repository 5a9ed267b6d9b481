"""What a decision about a job writes besides it, in one commit: dead letters, the audit log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from holdfast.core.dead_letter.fingerprint import fingerprint
from holdfast.core.dead_letter.lifecycle import attempts_of, closing_note
from holdfast.core.job.decision import Decision, Kind
from holdfast.core.values.failure import Failure
from holdfast.store.tables.audit import ENGINE, AuditEntry, values_of
from holdfast.store.tables.dead_letters import SUBJECT

JOB: Final = "job"
"""The kind of subject under which the audit record keeps what is done to jobs that run."""


def concerns_letter(decision: Decision) -> bool:
    """Return whether a decision ends its job for good or sends it back."""
    return decision.buries or decision.entry.kind is Kind.REVIVED or decision.closes_letter


def is_more_than_a_row(decision: Decision) -> bool:
    """Return whether a decision writes of a dead letter, or into the audit log."""
    return concerns_letter(decision) or decision.entry.kind is Kind.CANCELLED


def burials(applied: Iterable[Decision]) -> list[dict[str, Any]]:
    """Return what `bury` takes for each decision that ends its job for good."""
    return [
        _burial(decision, decision.failure)
        for decision in applied
        if decision.failure is not None and decision.buries
    ]


def returns(applied: Iterable[Decision]) -> list[dict[str, Any]]:
    """Return what `unbury` takes for each decision that sends its job back."""
    return [
        {"job_id": decision.job_id, "at": decision.entry.at}
        for decision in applied
        if decision.entry.kind is Kind.REVIVED
    ]


def closings(applied: Iterable[Decision]) -> list[dict[str, Any]]:
    """Return what `close_letter` takes for each decision that closes the letter of its job."""
    return [
        {
            "job_id": decision.job_id,
            "at": decision.entry.at,
            "note": closing_note(decision),
        }
        for decision in applied
        if decision.closes_letter
    ]


def records(applied: Iterable[Decision]) -> list[dict[str, Any]]:
    """Return what `audit_record` takes for each decision that a person asked for."""
    return [
        values_of(_RECORDS[decision.entry.kind](decision))
        for decision in applied
        if decision.entry.kind in _RECORDS
    ]


def _burial(decision: Decision, failure: Failure) -> dict[str, Any]:
    entry, tries = decision.entry, decision.tries
    return {
        "job_id": decision.job_id,
        "stage": entry.stage,
        "error_class": failure.error_class,
        "category": failure.category.value,
        "severity": failure.severity.value,
        "retryable": int(failure.retryable),
        "outcome_known": int(failure.outcome_known),
        "http_status": failure.http_status,
        "attempts": attempts_of(decision),
        "first_at": None if tries is None else tries.first_at,
        "at": entry.at,
        "holder": entry.holder,
        "message": failure.message,
        "exception_type": failure.exception_type,
        "stack": failure.stack,
        "fingerprint": fingerprint(failure, entry.stage),
    }


def _record_of_return(decision: Decision) -> AuditEntry:
    said = json.loads(decision.entry.detail or "{}")
    return AuditEntry(
        at=decision.entry.at,
        done_by=said.get("by") or ENGINE,
        action="replayed",
        subject_kind=SUBJECT,
        subject=decision.job_id,
        reason=said.get("reason"),
        detail={"from_start": bool(said.get("from_start")), "stage": decision.change.stage},
    )


def _record_of_cancel(decision: Decision) -> AuditEntry:
    said = json.loads(decision.entry.detail or "{}")
    return AuditEntry(
        at=decision.entry.at,
        done_by=said.get("by") or ENGINE,
        action="cancelled",
        subject_kind=JOB,
        subject=decision.job_id,
        reason=said.get("reason"),
    )


_RECORDS: Final = {Kind.REVIVED: _record_of_return, Kind.CANCELLED: _record_of_cancel}
