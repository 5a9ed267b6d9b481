"""The one place that says how a dead letter moves.

`decide_letter` is about what people do: it takes a letter as it was read, what is done about it,
the state of its job and the instant, and returns the letter after it, or `Refused` with the step
that is missing. `letter_after` is about what happens to its job: a failure, a replay. A store
writes that in SQL, in the commit of the job's own decision; the conformance suite holds it to this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from holdfast.core.dead_letter.dead_letter import (
    WAITING,
    DeadLetter,
    LetterEvent,
    LetterState,
    Refused,
    Remediated,
    ReplayAsked,
    Resolved,
    Step,
    Triaged,
)
from holdfast.core.dead_letter.fingerprint import fingerprint
from holdfast.core.job.decision import Kind
from holdfast.core.job.job import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.core.job.decision import Decision, Entry
    from holdfast.core.job.job import Job
    from holdfast.core.values.failure import Failure
    from holdfast.core.values.instant import Instant


def decide_letter(
    letter: DeadLetter, event: LetterEvent, *, job_state: JobState | None, now: Instant
) -> DeadLetter | Refused:
    """Return the letter after `event` at `now`, or the step that is missing.

    The order is triage, remediation with evidence, replay, and a note once the job is complete.
    `job_state` is None when the job is gone. The revision stays: the write that names it raises it.
    """
    match event:
        case Triaged():
            if letter.state not in WAITING:
                return _refused(letter, event, Step.NEW_DEATH)
            return letter._replace(
                state=LetterState.TRIAGED,
                cause=event.cause,
                note=event.note,
                evidence=None,
                updated_at=now,
            )
        case Remediated():
            return _remediate(letter, event, now)
        case ReplayAsked():
            missing = _missing_before_replay(letter, event)
            if missing is not None:
                return _refused(letter, event, missing)
            return _replayed(letter, now)
        case Resolved():
            missing = _missing_before_end(letter, event, job_state)
            if missing is not None:
                return _refused(letter, event, missing)
            return _resolved(letter, event.note, now)
    assert_never(event)


def letter_after(
    letter: DeadLetter | None, job: Job, decision: Decision, past: Sequence[Entry]
) -> DeadLetter | None:
    """Return the letter of a job once a decision about it is applied; None while it has none.

    `past` is the history of the job before that. The decision may end the job for good, which
    opens its letter; send it back, which is a replay; or find that its sender was mistaken, which
    closes what was left of an earlier failure.
    """
    entry, failure = decision.entry, decision.failure
    if failure is not None and decision.buries:
        return _opened(letter, job, decision, failure, _first_failure_at(decision, past))
    if letter is None:
        return None
    if decision.closes_letter:
        moved = _resolved(letter, closing_note(decision), entry.at)
    elif entry.kind is Kind.REVIVED:
        moved = _replayed(letter, entry.at)
    else:
        return letter
    return moved._replace(revision=letter.revision + 1)


def closing_note(decision: Decision) -> str:
    """Return the note of a letter that is closed because the sender of its job was mistaken."""
    return f"its sender's own mistake: {decision.entry.error_class}"


def attempts_of(decision: Decision) -> int:
    """Return how often what has failed for good was tried since the job was last sent back."""
    return decision.entry.attempt if decision.tries is None else decision.tries.attempts


def _first_failure_at(decision: Decision, past: Sequence[Entry]) -> Instant:
    """Return when what has failed for good failed first, since the job was last sent back."""
    entry, tries = decision.entry, decision.tries
    first = entry.at if tries is None else tries.first_at
    sent_back = [number for number, each in enumerate(past) if each.kind is Kind.REVIVED]
    since = past[sent_back[-1] + 1 :] if sent_back else past
    failed = [each.at for each in since if each.stage == entry.stage and each.error_class]
    return min([first, *failed])


def _opened(
    before: DeadLetter | None,
    job: Job,
    decision: Decision,
    failure: Failure,
    first_failure_at: Instant,
) -> DeadLetter:
    entry = decision.entry
    return DeadLetter(
        id=job.id,
        kind="job",
        pipeline=job.pipeline,
        stage=entry.stage,
        queue=job.queue,
        owner=job.owner,
        error_class=failure.error_class,
        previous_class=None if before is None else before.error_class,
        category=failure.category,
        severity=failure.severity,
        retryable=failure.retryable,
        outcome_known=failure.outcome_known,
        http_status=failure.http_status,
        attempts=attempts_of(decision),
        deaths=1 if before is None else before.deaths + 1,
        first_failure_at=first_failure_at,
        last_failure_at=entry.at,
        holder=entry.holder,
        message=failure.message,
        exception_type=failure.exception_type,
        stack=failure.stack,
        fingerprint=fingerprint(failure, entry.stage),
        payload=None,
        state=LetterState.OPEN,
        revision=0 if before is None else before.revision + 1,
        updated_at=entry.at,
        cause=None,
        evidence=None,
        note=None,
        replayed_at=None,
        resolved_at=None,
    )


def _replayed(letter: DeadLetter, now: Instant) -> DeadLetter:
    return letter._replace(
        state=LetterState.REPLAYED, replayed_at=now, resolved_at=None, updated_at=now
    )


def _resolved(letter: DeadLetter, note: str, now: Instant) -> DeadLetter:
    return letter._replace(state=LetterState.RESOLVED, note=note, resolved_at=now, updated_at=now)


def _remediate(letter: DeadLetter, event: Remediated, now: Instant) -> DeadLetter | Refused:
    if letter.state not in WAITING:
        return _refused(letter, event, Step.NEW_DEATH)
    if letter.state is LetterState.OPEN:
        return _refused(letter, event, Step.TRIAGE)
    if not event.evidence.strip():
        return _refused(letter, event, Step.EVIDENCE)
    return letter._replace(state=LetterState.REMEDIATED, evidence=event.evidence, updated_at=now)


def _missing_before_replay(letter: DeadLetter, event: ReplayAsked) -> Step | None:
    match letter.state:
        case LetterState.OPEN:
            return Step.TRIAGE
        case LetterState.TRIAGED:
            return Step.REMEDIATE
        case LetterState.REMEDIATED:
            if event.undecided:
                return Step.DELIVERIES
            return None if event.safe_to_repeat else Step.SAFE_TO_REPEAT
        case LetterState.REPLAYED | LetterState.RESOLVED:
            return Step.NEW_DEATH
    assert_never(letter.state)


def _missing_before_end(
    letter: DeadLetter, event: Resolved, job_state: JobState | None
) -> Step | None:
    if letter.state is LetterState.RESOLVED:
        return Step.NEW_DEATH
    if letter.state is LetterState.REPLAYED:
        ended = job_state is JobState.COMPLETE or (
            event.unreplayed and job_state in (None, JobState.CANCELLED)
        )
        if not ended:
            return Step.COMPLETION
    elif not event.unreplayed:
        return _next_step(letter.state)
    return None if event.note.strip() else Step.NOTE


def _next_step(state: LetterState) -> Step:
    if state is LetterState.OPEN:
        return Step.TRIAGE
    return Step.REMEDIATE if state is LetterState.TRIAGED else Step.REPLAY


def _refused(letter: DeadLetter, event: LetterEvent, missing: Step) -> Refused:
    return Refused(letter.id, letter.state, type(event).__name__, missing)
