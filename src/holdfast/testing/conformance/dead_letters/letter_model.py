"""What every store has to make of a job's dead letter, as a pure function."""

from collections.abc import Sequence

from holdfast.core.dead_letter.dead_letter import DeadLetter, LetterState
from holdfast.core.dead_letter.fingerprint import fingerprint
from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.job import Job
from holdfast.core.values.instant import Instant
from holdfast.store.contract import LedgerEntry


def letter_after(
    previous: DeadLetter | None, job: Job, decision: Decision, history: Sequence[LedgerEntry]
) -> DeadLetter | None:
    """Return the letter of `job` once `decision` is applied: what every store has to make of it.

    `history` are the ledger's entries, the one of the decision included.
    """
    entry, failure = decision.entry, decision.failure
    if failure is None or not decision.buries:
        if previous is not None and decision.closes_letter:
            return previous._replace(
                state=LetterState.RESOLVED,
                revision=previous.revision + 1,
                updated_at=entry.at,
                resolved_at=entry.at,
                note=f"its sender's own mistake: {entry.error_class}",
            )
        if entry.kind is not Kind.REVIVED or previous is None:
            return previous
        return previous._replace(
            state=LetterState.REPLAYED,
            revision=previous.revision + 1,
            updated_at=entry.at,
            replayed_at=entry.at,
            resolved_at=None,
        )
    return DeadLetter(
        id=job.id,
        kind="job",
        pipeline=job.pipeline,
        stage=job.stage,
        queue=job.queue,
        owner=job.owner,
        error_class=failure.error_class,
        previous_class=None if previous is None else previous.error_class,
        category=failure.category,
        severity=failure.severity,
        retryable=failure.retryable,
        outcome_known=failure.outcome_known,
        http_status=failure.http_status,
        attempts=job.attempt,
        deaths=1 if previous is None else previous.deaths + 1,
        first_failure_at=_first_failure(job.stage, history),
        last_failure_at=entry.at,
        holder=entry.holder,
        message=failure.message,
        exception_type=failure.exception_type,
        stack=failure.stack,
        fingerprint=fingerprint(failure, job.stage),
        payload=None,
        state=LetterState.OPEN,
        revision=0 if previous is None else previous.revision + 1,
        updated_at=entry.at,
        cause=None,
        evidence=None,
        note=None,
        replayed_at=None,
        resolved_at=None,
    )


def _first_failure(stage: str, history: Sequence[LedgerEntry]) -> Instant:
    entries = [line.entry for line in history]
    sent_back = [number for number, entry in enumerate(entries) if entry.kind is Kind.REVIVED]
    since = entries[sent_back[-1] + 1 :] if sent_back else entries
    return min(
        entry.at for entry in since if entry.stage == stage and entry.error_class is not None
    )
