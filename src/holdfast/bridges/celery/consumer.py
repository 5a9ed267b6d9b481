"""Celery's consumer, but that what it cannot read becomes a dead letter instead of vanishing."""

from __future__ import annotations

import logging
from typing import Any, Final

from celery.worker.consumer import Consumer

LOGGER: Final = logging.getLogger("holdfast.worker")


class DeadLetteringConsumer(Consumer):  # type: ignore[misc] # Celery has no types
    """Rejects messages whose body is no JSON.

    Where a queue has no dead-letter exchange, the broker drops them, as Celery would have done.
    """

    def on_decode_error(self, message: Any, exc: Exception) -> None:  # noqa: ANN401 - kombu's
        """Reject a message that cannot be read."""
        LOGGER.error(
            "a message cannot be read: %s",
            exc,
            extra={"event": "unreadable", "queue": message.delivery_info.get("routing_key")},
        )
        message.reject_log_error(LOGGER, self.connection_errors)
