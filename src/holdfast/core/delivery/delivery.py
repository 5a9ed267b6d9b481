"""The duty to tell one recipient once, as the store holds it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from holdfast.core.delivery.promise import Promise
    from holdfast.core.values.instant import Instant
    from holdfast.core.values.retry import Retry


class DeliveryState(StrEnum):
    """How far a recipient has been notified."""

    INTENT = "intent"
    """Nothing was handed to the provider."""
    SENDING = "sending"
    """Something may have been: a send is under way, or its outcome is being found out."""
    SENT = "sent"
    """The provider has accepted the message."""
    FAILED = "failed"
    """The provider has not accepted it, and it is not tried any more."""
    UNKNOWN = "unknown"
    """Nobody can tell whether the provider has accepted it: a person decides."""


class DeliveryKey(NamedTuple):
    """What a delivery is made for, once."""

    subject: str
    recipient: str
    version: int


class Delivery(NamedTuple):
    """One recipient of one version of one subject; a row, as `Job` is one.

    The first block never changes after the delivery is made.
    """

    id: str
    subject: str
    recipient: str
    version: int
    provider: str
    token: str
    """The same for every try, so that a provider can tell them from new messages."""
    message: str
    """What is sent to the recipient, frozen as JSON."""
    created_at: Instant

    job_id: str | None
    """The job whose stage waits for this delivery."""
    stage: str | None
    required: bool
    """Whether that stage is done only when this recipient has been notified."""
    state: DeliveryState
    revision: int
    run_at: Instant
    """Not before this instant; while a courier has it, the end of its lease."""
    holder: str | None
    lease_until: Instant | None
    attempts: int
    """Sends that were begun, those handed back aside."""
    lookups: int
    """Lookups without an answer since the last send."""
    began_at: Instant | None
    """When the first send began whose outcome is open."""
    notification_id: str | None
    notified_at: Instant | None
    error_class: str | None
    error: str | None
    checked_at: Instant | None
    """When the provider last confirmed it, or could say nothing about what is unknown."""
    job_told: bool
    """Whether the job was looked at since this delivery ended."""
    updated_at: Instant
    trace: str | None = None
    """The trace context of its sender; it never changes."""
    doubted_at: Instant | None = None
    """When the outcome of an open send became a question: it was accepted before, or not at all."""

    @property
    def key(self) -> DeliveryKey:
        """What it is made for; no other delivery is."""
        return DeliveryKey(self.subject, self.recipient, self.version)


class AskedOf(NamedTuple):
    """One recipient that a stage wants notified."""

    recipient: str
    message: str
    required: bool


class Asked(NamedTuple):
    """What a stage wants sent to whom; it is done once every required recipient was notified."""

    subject: str
    version: int
    provider: str | None
    """By name; None where there is only one."""
    recipients: tuple[AskedOf, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms the deliveries of one provider are carried out."""

    promise: Promise
    retry: Retry
    """How often a message is sent, and how long after a failure."""
    lookup: Retry
    """How often a provider that does not answer is asked about one send."""
    timeout_us: int
    """How long a call to the provider may take."""
    look_first: bool = False
    """Whether the provider is asked before a first send as well, as after a restored backup."""


def token_of(*, subject: str, recipient: str, version: int, provider: str) -> str:
    """Return the token of a delivery: the same key gives the same token, on any machine."""
    key = json.dumps([subject, recipient, version, provider], ensure_ascii=True)
    return hashlib.sha256(key.encode()).hexdigest()


def intent(
    delivery_id: str,
    *,
    subject: str,
    recipient: str,
    version: int,
    provider: str,
    message: str,
    now: Instant,
    job_id: str | None = None,
    stage: str | None = None,
    required: bool = True,
    trace: str | None = None,
) -> Delivery:
    """Return a delivery of which nothing was handed over, and which is due now."""
    return Delivery(
        id=delivery_id,
        subject=subject,
        recipient=recipient,
        version=version,
        provider=provider,
        token=token_of(subject=subject, recipient=recipient, version=version, provider=provider),
        message=message,
        created_at=now,
        job_id=job_id,
        stage=stage,
        required=required,
        state=DeliveryState.INTENT,
        revision=0,
        run_at=now,
        holder=None,
        lease_until=None,
        attempts=0,
        lookups=0,
        began_at=None,
        notification_id=None,
        notified_at=None,
        error_class=None,
        error=None,
        checked_at=None,
        job_told=False,
        updated_at=now,
        trace=trace,
    )
