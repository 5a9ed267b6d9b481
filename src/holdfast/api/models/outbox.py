"""Outbox messages as the API tells them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from holdfast.api.models.values.moment import Moment
from holdfast.core.values.outbox import OutboxStatus


class OutboxMessage(BaseModel):
    """A message for others, and how far it has come."""

    position: int
    id: str
    aggregate_id: str
    message_type: str
    payload: Any
    trace: str | None
    status: OutboxStatus
    created_at: Moment
    processed_at: Moment | None
    retry_count: int
    error_message: str | None
    run_at: Moment
    holder: str | None
    lease_until: Moment | None
    waiting_s: float | None = None
    """How long it has been pending."""


class OutboxPage(BaseModel):
    """Some messages, newest first, and how the outbox stands as a whole."""

    items: list[OutboxMessage]
    next_cursor: str | None
    pending: int
    oldest_pending_at: Moment | None
    failed: int
