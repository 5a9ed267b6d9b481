"""The record of a job that failed for good, what may happen to it, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

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
    """A person has said what kind of cause it is."""
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
    """A person ended the replayed job."""
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
    """A person has found out what kind of cause it is."""

    cause: Cause
    by: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Remediated:
    """A person has removed the cause; `evidence` says how that is known."""

    evidence: str
    by: str


@dataclass(frozen=True, slots=True)
class ReplayAsked:
    """A person sends the job back, to the failed stage or to the start.

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
    """A person closes the letter; with `unreplayed` although its job never completed."""

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
