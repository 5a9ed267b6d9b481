"""What can happen to a job. A closed set: `decide` answers each, and nothing else changes a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from holdfast.core.delivery.delivery import Asked
    from holdfast.core.values.failure import Failure
    from holdfast.core.values.instant import Instant
    from holdfast.core.values.outbox import NewMessage


@dataclass(frozen=True, slots=True)
class Done:
    """The stage returned; with `lease_until` its worker goes on to the next stage at once."""

    result: str
    lease_until: Instant | None = None
    messages: tuple[NewMessage, ...] = ()
    """What the stage published: it goes out if and only if its result is kept."""
    http_status: int | None = None
    """What the stage's upstream answered, where the handler noted it."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt failed, or what a waiting stage waits for will not come."""

    failure: Failure
    alike: int | None = None
    """How many attempts of the stage failed with the same class before; None when nobody looked,
    and then all of them count."""
    shut_by: str | None = None
    """The upstream whose breaker opened while the attempt was under way, if it failed of that."""


@dataclass(frozen=True, slots=True)
class Exhausted:
    """What a stage wanted done was tried as often as it may be, outside the stage's own attempts.

    The stage has failed, whatever its budget: a repetition by itself would change nothing.
    """

    failure: Failure
    attempts: int
    """How often it was tried."""
    first_at: Instant
    """When the first of those tries failed."""


@dataclass(frozen=True, slots=True)
class LeaseExpired:
    """The worker stopped renewing its lease."""


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The handler asked to be called again later; no attempt is spent."""

    after_us: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker broke the attempt off and hands the job back; no attempt is spent."""


@dataclass(frozen=True, slots=True)
class Held:
    """The attempt did not begin, because its upstream lets nothing through; none is spent.

    Without `until` the job keeps its place in the queue, and is claimed once the upstream is back.
    """

    upstream: str
    reason: str
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Suspended:
    """The stage is done only with an answer, or when `until` has passed."""

    until: Instant | None = None
    messages: tuple[NewMessage, ...] = ()
    """What the stage published before it began to wait."""
    asked: Asked | None = None
    """Whom the stage wants notified; it is done once they are."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a waiting stage arrived."""

    stage: str
    result: str
    received_at: Instant | None = None
    """When it was received, which deadlines are compared with; now unless given."""


@dataclass(frozen=True, slots=True)
class AnsweredFailure:
    """A waiting stage was answered that what it waits for has failed."""

    stage: str
    failure: Failure
    alike: int | None = None
    """As of `Failed`."""
    received_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class ProgressNoted:
    """A waiting stage was answered that what it waits for is under way."""

    stage: str
    note: str
    percent: int | None = None
    received_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class WaitExpired:
    """Nobody answered in time."""


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """A person or a program asked that the job end."""

    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The job did not end in the time it was given."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The job was turned away as it came: it is kept as failed, and none of it is ever run."""

    failure: Failure


@dataclass(frozen=True, slots=True)
class RetryRequested:
    """A person sends a failed job back, to the failed stage or to the start."""

    by: str
    reason: str | None = None
    from_start: bool = False


@dataclass(frozen=True, slots=True)
class ResultRemoved:
    """What a complete job made is not kept any more."""

    by: str
    reason: str | None = None


Event: TypeAlias = (
    Done
    | Failed
    | Exhausted
    | LeaseExpired
    | Snoozed
    | Interrupted
    | Held
    | Suspended
    | Answered
    | AnsweredFailure
    | ProgressNoted
    | WaitExpired
    | CancelRequested
    | DeadlinePassed
    | Refused
    | RetryRequested
    | ResultRemoved
)
