"""The record of a job that failed for good, and the one place that says how it moves.

`decide_letter` takes a letter as it was read, what a person does about it, the state of its job
and the instant, and returns the letter after it, or `Refused` with the step that is missing.
That a job dies or is sent back moves its letter as well; the store does that in the commit of the
job's own decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, assert_never

from holdfast.core.job.job import JobState

if TYPE_CHECKING:
    from holdfast.core.values.failure import Category, Severity
    from holdfast.core.values.instant import Instant


FILE: Final = "file"
"""The kind of a letter that came from a file and has no job."""
MESSAGE: Final = "message"
"""The kind of a letter of a message that no consumer could handle; it has no job either."""


class LetterState(StrEnum):
    """How far a person has come with a dead letter."""

    OPEN = "open"
    TRIAGED = "triaged"
    """Somebody has said what kind of cause it is."""
    REMEDIATED = "remediated"
    """The cause is gone, and the evidence of that is on record."""
    REPLAYED = "replayed"
    """The job was sent back; its own state says what became of it."""
    RESOLVED = "resolved"


WAITING: frozenset[LetterState] = frozenset(
    {LetterState.OPEN, LetterState.TRIAGED, LetterState.REMEDIATED}
)
"""The states in which a letter waits for a person while its job is failed."""


class Cause(StrEnum):
    """Where the trouble was, which says what the remedy is."""

    TRANSIENT = "transient"
    """An upstream was down or overloaded: see that it has recovered."""
    DATA = "data"
    """The payload or its source: correct it there."""
    AUTH_CONFIG = "auth_config"
    """Credentials, permissions, endpoints: rotate or fix them."""
    CODE_DEFECT = "code_defect"
    """Our own code: deploy a fix that was tried elsewhere."""


class Standing(StrEnum):
    """The word shown for a letter: its state, and what its job and its past make of it."""

    OPEN = "open"
    ESCALATED = "escalated"
    """Open again: a replay failed for the same reason, and repeating alone will not help."""
    TRIAGED = "triaged"
    REMEDIATED = "remediated"
    REPLAYING = "replaying"
    VERIFIED = "verified"
    """The replayed job is complete; what is left is the note."""
    CANCELLED = "cancelled"
    """Somebody ended the replayed job."""
    RESOLVED = "resolved"


WAITING_STANDINGS: Final = frozenset(
    {Standing.OPEN, Standing.ESCALATED, Standing.TRIAGED, Standing.REMEDIATED}
)
"""The words for letters that wait for a person."""


class DeadLetter(NamedTuple):
    """What is kept of a job that failed for good; a row, as `Job` is one.

    The first block is rewritten whenever the job dies, the second is a person's work.
    """

    id: str
    """The job's own id."""
    kind: str
    pipeline: str
    stage: str
    queue: str
    owner: str
    error_class: str
    previous_class: str | None
    """The error class of the death before this one."""
    category: Category
    severity: Severity
    retryable: bool
    outcome_known: bool
    http_status: int | None
    attempts: int
    """Attempts of the failed stage since the job was last sent back."""
    deaths: int
    first_failure_at: Instant
    last_failure_at: Instant
    holder: str | None
    message: str
    exception_type: str
    stack: str
    fingerprint: str
    payload: str | None
    """What a letter without a job of its own carries; a job's payload stands in its own row."""

    state: LetterState
    revision: int
    updated_at: Instant
    cause: Cause | None
    evidence: str | None
    note: str | None
    replayed_at: Instant | None
    resolved_at: Instant | None
    origin: str | None = None
    """The entry of another system that a letter without a job came from, but for its payload."""


@dataclass(frozen=True, slots=True)
class Triaged:
    """Somebody has found out what kind of cause it is."""

    cause: Cause
    by: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Remediated:
    """Somebody has removed the cause; `evidence` says how that is known."""

    evidence: str
    by: str


@dataclass(frozen=True, slots=True)
class ReplayAsked:
    """Somebody sends the job back, to the failed stage or to the start.

    `safe_to_repeat` says that what the stages did before may be done again without harm,
    `undecided` that the stage has deliveries which no repetition would settle.
    """

    by: str
    from_start: bool = False
    reason: str | None = None
    safe_to_repeat: bool = False
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """Somebody closes the letter; with `unreplayed` although its job never completed."""

    note: str
    by: str
    unreplayed: bool = False


LetterEvent: TypeAlias = Triaged | Remediated | ReplayAsked | Resolved


class Step(StrEnum):
    """What has to come first where something is refused."""

    TRIAGE = "triage"
    REMEDIATE = "remediate"
    EVIDENCE = "evidence"
    SAFE_TO_REPEAT = "safe_to_repeat"
    DELIVERIES = "deliveries"
    """A person has to say what became of the unknown ones."""
    REPLAY = "replay"
    COMPLETION = "completion"
    """The replayed job has to end well."""
    NOTE = "note"
    NEW_DEATH = "new_death"
    """Nothing can be done until the job fails again."""


class Refused(NamedTuple):
    """What was asked is not next: `missing` is."""

    letter_id: str
    state: LetterState
    event: str
    missing: Step


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
            return letter._replace(
                state=LetterState.REPLAYED, replayed_at=now, resolved_at=None, updated_at=now
            )
        case Resolved():
            missing = _missing_before_end(letter, event, job_state)
            if missing is not None:
                return _refused(letter, event, missing)
            return letter._replace(
                state=LetterState.RESOLVED, note=event.note, resolved_at=now, updated_at=now
            )
    assert_never(event)


def is_escalated(letter: DeadLetter) -> bool:
    """Return whether the job died again of what no repetition cures."""
    return (
        letter.deaths > 1 and not letter.retryable and letter.previous_class == letter.error_class
    )


def is_dismissed(letter: DeadLetter, job_state: JobState | None) -> bool:
    """Return whether the letter was closed although its job never completed.

    One from a file that was submitted is in the hands of a job of its own, and a message that was
    published again in those of its consumers.
    """
    handed_on = letter.kind in {FILE, MESSAGE} and letter.replayed_at is not None
    return (
        letter.state is LetterState.RESOLVED
        and job_state is not JobState.COMPLETE
        and not handed_on
    )


def standing(letter: DeadLetter, job_state: JobState | None) -> Standing:
    """Return the word for how the letter stands, worked out and never stored."""
    if letter.state is LetterState.REPLAYED:
        if job_state is JobState.COMPLETE:
            return Standing.VERIFIED
        return Standing.CANCELLED if job_state is JobState.CANCELLED else Standing.REPLAYING
    if letter.state is LetterState.OPEN and is_escalated(letter):
        return Standing.ESCALATED
    return Standing(letter.state.value)


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
