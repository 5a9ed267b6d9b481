"""What a decision about a job writes of its dead letter, in the same commit."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from holdfast.core.decision import Decision, Kind
from holdfast.core.failure import Failure
from holdfast.core.fingerprint import fingerprint
from holdfast.store.audit import ENGINE, AuditEntry, values_of
from holdfast.store.letters import SUBJECT


def concerns_letter(decision: Decision) -> bool:
    """Tell whether a decision ends its job for good or sends it back."""
    return decision.buries or decision.entry.kind is Kind.REVIVED


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


def records_of_returns(applied: Iterable[Decision]) -> list[dict[str, Any]]:
    """Return what `audit_record` takes for each decision that sends its job back."""
    return [
        values_of(_record_of_return(decision))
        for decision in applied
        if decision.entry.kind is Kind.REVIVED
    ]


def _burial(decision: Decision, failure: Failure) -> dict[str, Any]:
    entry = decision.entry
    return {
        "job_id": decision.job_id,
        "stage": entry.stage,
        "error_class": failure.error_class,
        "category": failure.category.value,
        "severity": failure.severity.value,
        "retryable": int(failure.retryable),
        "outcome_known": int(failure.outcome_known),
        "http_status": failure.http_status,
        "attempts": entry.attempt,
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
