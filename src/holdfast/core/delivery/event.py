"""What can happen to a delivery. A closed set: `decide_delivery` answers each, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from holdfast.core.values.failure import Failure
    from holdfast.core.values.instant import Instant
    from holdfast.core.values.quota import Window


class Finding(StrEnum):
    """What a provider says when it is asked about a message."""

    FOUND = "found"
    MISSING = "missing"
    UNAVAILABLE = "unavailable"
    """It did not say."""


class Word(StrEnum):
    """What a person says about a delivery."""

    SENT = "sent"
    """The recipient has been notified."""
    RESEND = "resend"
    """The recipient has not been notified, or may be notified twice: send it."""
    FAIL = "fail"
    """The recipient is not to be notified."""


@dataclass(frozen=True, slots=True)
class SendBegun:
    """The message is about to be handed to the provider; written before anything is sent."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The provider has accepted the message."""

    notification_id: str | None


@dataclass(frozen=True, slots=True)
class SendFailed:
    """The send that began at `since` failed; whether it was accepted the failure says."""

    failure: Failure
    since: Instant


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The message was not handed to the provider; no attempt is spent.

    `since` is when the send was about to begin, if that was written.
    """

    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Postponed:
    """The provider takes no more messages in this window; the send spends no attempt.

    `since` is when the send began.
    """

    failure: Failure
    since: Instant
    window: Window


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A courier has asked the provider about an earlier send."""

    finding: Finding
    notification_id: str | None = None


@dataclass(frozen=True, slots=True)
class Parked:
    """Nothing can be found out about an earlier send any more, and none may follow by itself."""


@dataclass(frozen=True, slots=True)
class CourierLost:
    """The courier did not report before its lease ended."""


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """A stage of a job wants the recipient notified, and there is a delivery for that already."""

    job_id: str
    stage: str
    required: bool


@dataclass(frozen=True, slots=True)
class OperatorSays:
    """A person has found out, or decides."""

    word: Word
    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What is stored was compared with what the provider knows."""

    finding: Finding
    notification_id: str | None = None


DeliveryEvent: TypeAlias = (
    SendBegun
    | Accepted
    | SendFailed
    | HandedBack
    | Postponed
    | LookedUp
    | Parked
    | CourierLost
    | AskedAgain
    | OperatorSays
    | Reconciled
)
