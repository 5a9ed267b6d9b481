"""The steps of a dead letter: what is missing before one, and what the audit log says of it."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from holdfast.core.dead_letter.dead_letter import (
    Cause,
    DeadLetter,
    LetterEvent,
    Refused,
    Remediated,
    ReplayAsked,
    Resolved,
    Step,
    Triaged,
    is_dismissed,
    standing,
)
from holdfast.core.dead_letter.lifecycle import decide_letter
from holdfast.core.job.job import Job
from holdfast.core.values.failure import MAX_MESSAGE_LENGTH, clean_text
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.errors import InvalidValue, StepMissing, UnknownLetter
from holdfast.secrecy import private
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import SUBJECT

_HOW: Final = {
    Step.TRIAGE: "it has to be triaged first",
    Step.REMEDIATE: "its cause has to be removed first, and the evidence of that put on record",
    Step.EVIDENCE: "the evidence is empty; say how it is known that the cause is gone",
    Step.SAFE_TO_REPEAT: "its job has no idempotency key; make sure that its stage may be "
    "repeated without harm, then confirm it (confirm_idempotent)",
    Step.DELIVERIES: "whether some recipients were reached is unknown, and a replay would not find "
    "out; say what became of them first",
    Step.REPLAY: "its job has to be sent back first, or the letter closed as one that was not "
    "replayed (unreplayed)",
    Step.COMPLETION: "its job was sent back and is not complete; look at the job",
    Step.NOTE: "the note is empty; say how it ended",
    Step.NEW_DEATH: "nothing is left to do about it unless its job fails again",
}
_ACTIONS: Final[dict[type[LetterEvent], str]] = {
    Triaged: "triage",
    Remediated: "remediate",
    ReplayAsked: "replay",
    Resolved: "resolve",
}


def decided(letter: DeadLetter, event: LetterEvent, job: Job | None, now: Instant) -> DeadLetter:
    """Return the letter as `event` leaves it, or raise `StepMissing`."""
    job_state = None if job is None else job.state
    after = decide_letter(letter, event, job_state=job_state, now=now)
    if isinstance(after, Refused):
        raise StepMissing(
            letter.id,
            action=_ACTIONS[type(event)],
            state=standing(letter, job_state).value,
            missing=after.missing.value,
            how=_HOW[after.missing],
        )
    return after


def record_of(letter: DeadLetter, event: LetterEvent, job: Job | None) -> AuditEntry:
    """Return what the audit log says of a move; that of a replay is written with the job's."""
    reason: str | None
    match event:
        case Triaged():
            action, reason = "triaged", event.note
        case Remediated():
            action, reason = "remediated", event.evidence
        case Resolved():
            dismissed = is_dismissed(letter, None if job is None else job.state)
            action, reason = "dismissed" if dismissed else "resolved", event.note
        case _:
            raise AssertionError(f"{event} is recorded with its job")
    return AuditEntry(
        at=letter.updated_at,
        done_by=event.by,
        action=action,
        subject_kind=SUBJECT,
        subject=letter.id,
        reason=reason,
        detail={"cause": None if letter.cause is None else letter.cause.value},
    )


def checked_note(owner: str, field: str, text: object) -> str:
    """Return what a person wrote, as it may be shown and as both databases can hold it."""
    if not isinstance(text, str):
        raise InvalidValue(owner, field=field, value=text, limit="a text")
    return clean_text(private(text, limit=MAX_MESSAGE_LENGTH), MAX_MESSAGE_LENGTH)


def checked_cause(cause: object) -> Cause:
    """Return one of the causes there are."""
    try:
        return Cause(str(cause))
    except ValueError:
        raise InvalidValue(
            "triage", field="cause", value=cause, limit=f"one of {', '.join(Cause)}"
        ) from None


def checked_letter_id(letter_id: str) -> JobId:
    """Return the id in its canonical form; what is no id names no letter."""
    try:
        return JobId(str(UUID(letter_id)))
    except (ValueError, AttributeError, TypeError):
        raise UnknownLetter(str(letter_id)) from None
