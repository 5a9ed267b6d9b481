"""Deliveries as the API takes and tells them: without messages, and with recipients masked."""

from __future__ import annotations

from pydantic import BaseModel, Field

from holdfast.api.models.values.acting import Action, Reasoned
from holdfast.api.models.values.moment import Moment
from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.delivery.event import Word
from holdfast.core.delivery.log import Outcome


class Delivery(BaseModel):
    """The duty to tell one recipient once, and how far that has come."""

    id: str
    subject: str
    recipient: str
    """As it may be shown."""
    version: int
    provider: str
    token: str
    state: DeliveryState
    required: bool
    job_id: str | None
    stage: str | None
    attempts: int
    lookups: int
    created_at: Moment
    run_at: Moment
    began_at: Moment | None
    notification_id: str | None
    notified_at: Moment | None
    checked_at: Moment | None
    holder: str | None
    error_class: str | None
    error: str | None


class DeliveryLogLine(BaseModel):
    """What came of one send or one lookup."""

    at: Moment
    attempt: int
    """Which send it is about."""
    outcome: Outcome
    error_class: str | None
    http_status: int | None
    notification_id: str | None
    """The provider's id, where it gave one."""
    worker: str | None
    message: str | None


class DeliveryReport(Delivery):
    """A delivery, and all that happened to it."""

    log: list[DeliveryLogLine]
    """What came of its sends and lookups, the oldest first."""
    actions: list[Action]
    """What was done about it, the latest first."""


class DeliveryPage(BaseModel):
    """Some deliveries, newest first."""

    items: list[Delivery]
    next_cursor: str | None


class DeliveryResolution(Reasoned):
    """What became of a delivery, or what is to become of it."""

    word: Word = Field(strict=False)
    """`sent`: the recipient has been notified. `resend`: send it, though it may be notified twice.
    `fail`: the recipient is not to be notified."""
