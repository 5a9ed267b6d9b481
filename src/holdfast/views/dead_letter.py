"""Dead letters as people and programs outside the engine read them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.classify.public import PublicCode
from holdfast.core.dead_letter.dead_letter import (
    DeadLetter,
    Standing,
    is_dismissed,
    is_escalated,
    standing,
)
from holdfast.core.job.job import Job, JobState
from holdfast.core.values.failure import Failure
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.secrecy import private
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import LetterGroup
from holdfast.views.delivery import DeliveryView
from holdfast.views.explain.advice import Advice, advice_on
from holdfast.views.job import HistoryLine

HASH_LENGTH: Final = 16
"""How much of a payload's hash is shown: enough to compare, too little to search for."""


def advice_of(group: LetterGroup) -> Advice:
    """Return whose move letters of one cause are."""
    return advice_on(
        group.error_class,
        category=group.category,
        http_status=group.http_status,
        in_doubt=group.in_doubt,
    )


@dataclass(frozen=True, slots=True)
class LetterView:
    """A dead letter and its job as they stood when they were read."""

    letter: DeadLetter
    job: Job | None
    """None when the job is gone."""
    read_at: Instant
    public: PublicCode | None = None
    """The public code of the failure; None where the pipeline has no public codes."""
    advised: bool = True
    """Whether its reader is one who could act on it."""
    in_doubt: bool = False
    """Whether nobody knows if some of its messages were sent."""

    @property
    def advice(self) -> Advice | None:
        """Whose move it is, by the class of the failure; None for end users."""
        letter = self.letter
        if not self.advised:
            return None
        return advice_on(
            letter.error_class,
            category=letter.category,
            http_status=letter.http_status,
            in_doubt=self.in_doubt,
        )

    @property
    def answer(self) -> str | None:
        """What the upstream answered, redacted and cut; known while the job is failed."""
        if self.job is None or self.job.error is None:
            return None
        answer: str | None = json.loads(self.job.error).get("answer")
        return answer

    @property
    def id(self) -> str:
        """The id of the letter and of its job."""
        return self.letter.id

    @property
    def job_state(self) -> JobState | None:
        """The state of the job."""
        return None if self.job is None else self.job.state

    @property
    def standing(self) -> Standing:
        """The word for how the letter stands."""
        return standing(self.letter, self.job_state)

    @property
    def escalated(self) -> bool:
        """Whether a replay failed for the same reason, which no repetition cures."""
        return is_escalated(self.letter)

    @property
    def dismissed(self) -> bool:
        """Whether a person closed the letter although the job never completed."""
        return is_dismissed(self.letter, self.job_state)

    @property
    def error_code(self) -> str:
        """The public code of the failure, or its error class where the pipeline has no codes."""
        return self.letter.error_class if self.public is None else self.public.code

    def record(self) -> dict[str, Any]:
        """Return what a queue of dead messages keeps of each, under the names used there."""
        letter = self.letter
        key = None if self.job is None else _shown(self.job.key)
        return {
            "requestId": letter.id,
            "submissionId": key or letter.id,
            "failureReason": letter.error_class,
            "attemptsMade": letter.attempts,
            "lastError": letter.message,
            "timestamp": to_rfc3339(letter.last_failure_at),
        }

    def sanitized_context(self) -> dict[str, Any]:
        """Return the circumstances of the failure: ids and figures, and nothing of the payload."""
        letter, job = self.letter, self.job
        return {
            "job_id": letter.id,
            "key": None if job is None else _shown(job.key),
            "trace": None if job is None else _shown(job.trace),
            "rerun_of": None if job is None else job.rerun_of,
            "version": None if job is None else job.version,
            "pipeline": letter.pipeline,
            "stage": letter.stage,
            "attempts": letter.attempts,
            "deaths": letter.deaths,
            "http_status": letter.http_status,
            "worker": letter.holder,
            "payload": _payload_facts(letter.payload if job is None else job.payload),
        }

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; times are RFC 3339 in UTC."""
        letter = self.letter
        return {
            "id": letter.id,
            "kind": letter.kind,
            "standing": self.standing.value,
            "state": letter.state.value,
            "escalated": self.escalated,
            "dismissed": self.dismissed,
            "job_state": None if self.job_state is None else self.job_state.value,
            "pipeline": letter.pipeline,
            "stage": letter.stage,
            "queue": letter.queue,
            "owner": letter.owner,
            "error_code": self.error_code,
            "error_message": None if self.public is None else self.public.message,
            "error_class": letter.error_class,
            "previous_class": letter.previous_class,
            "category": letter.category.value,
            "severity": letter.severity.value,
            "retryable": letter.retryable,
            "outcome_known": letter.outcome_known,
            "http_status": letter.http_status,
            "attempts": letter.attempts,
            "deaths": letter.deaths,
            "first_failure_at": to_rfc3339(letter.first_failure_at),
            "last_failure_at": to_rfc3339(letter.last_failure_at),
            "message": letter.message,
            "exception_type": letter.exception_type,
            "answer": self.answer,
            "advice": None if self.advice is None else self.advice.to_document(),
            "last_stack": letter.stack,
            "sanitized_context": self.sanitized_context(),
            "fingerprint": letter.fingerprint,
            "cause": None if letter.cause is None else letter.cause.value,
            "evidence": letter.evidence,
            "note": letter.note,
            "replayed_at": _time(letter.replayed_at),
            "resolved_at": _time(letter.resolved_at),
            "updated_at": to_rfc3339(letter.updated_at),
            "revision": letter.revision,
        }


@dataclass(frozen=True, slots=True)
class LetterReport:
    """All that is known of a dead letter."""

    view: LetterView
    attempts_allowed: int | None
    """The budget of the failed stage; None when its plan is not stored."""
    actions: Sequence[AuditEntry]
    """What was done about it, newest first."""
    history: Sequence[HistoryLine]
    """What happened to its job, oldest first."""
    deliveries: Sequence[DeliveryView] = ()
    """The deliveries of the failed stage as they stand now, the oldest first."""
    upstream: str | None = None
    """What the failed stage calls; None where it calls nothing, or its plan is not stored."""

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            **self.view.to_document(),
            "attempts_allowed": self.attempts_allowed,
            "upstream": self.upstream,
            "record": self.view.record(),
            "actions": [_action(entry) for entry in self.actions],
            "history": [line.to_document() for line in self.history],
            "deliveries": [view.to_document() for view in self.deliveries],
        }


def failure_of(letter: DeadLetter) -> Failure:
    """Return the failure that a letter records."""
    return Failure(
        error_class=letter.error_class,
        message=letter.message,
        category=letter.category,
        retryable=letter.retryable,
        severity=letter.severity,
        outcome_known=letter.outcome_known,
        http_status=letter.http_status,
        exception_type=letter.exception_type,
        stack=letter.stack,
    )


def _action(entry: AuditEntry) -> dict[str, Any]:
    return {
        "at": to_rfc3339(entry.at),
        "by": entry.done_by,
        "action": entry.action,
        "reason": entry.reason,
        "detail": entry.detail,
    }


def _payload_facts(payload: str | None) -> dict[str, Any] | None:
    """Return by what a payload can be recognised without being shown."""
    if payload is None:
        return None
    body = payload.encode("utf-8")
    return {"sha256": hashlib.sha256(body).hexdigest()[:HASH_LENGTH], "bytes": len(body)}


def _shown(text: str | None) -> str | None:
    """Return what the submitter chose, which may hold what nobody should see here."""
    return None if text is None else private(text)


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else to_rfc3339(instant)
