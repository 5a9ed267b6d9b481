"""Runs a consumer's handler on a message, for a limited time, and judges how that went."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Final

from holdfast.bridges.messages.handler_threads import HandlerThreads
from holdfast.classify import classify, is_failure
from holdfast.core.values.failure import PAYLOAD_INVALID, Category, ErrorClass, Failure
from holdfast.core.values.instant import Instant
from holdfast.errors import HandlerStuck, InvalidValue, RetryLater, UnavailableError
from holdfast.runtime.outbox.received import Handle, Received

__all__ = [
    "Handle",
    "checked_timeout",
    "invalid",
    "is_outage",
    "judged",
    "log_failure",
    "raised_by",
    "tried",
]

LOGGER: Final = logging.getLogger("holdfast.consumer")

TIMEOUT_S: Final = 45.0
"""More than the store itself ever waits: for a connection, for a lock and for a statement."""
LONGEST_TIMEOUT_S: Final = 55.0
"""Less than the minute after which PostgreSQL ends a transaction that does nothing.

That would look like a store that is away, which a message outlasts at no cost, again and again.
"""
_QUERY_CANCELED: Final = "57014"
"""PostgreSQL's word for a statement that took too long."""
_STOPPED: Final = Failure(
    error_class=ErrorClass.WORKER_LOST,
    message="the handler stopped before it was done",
    category=Category.TRANSIENT,
    retryable=True,
)


def checked_timeout(timeout_s: object) -> float:
    """Return how long a handler may take, or raise `InvalidValue`."""
    if (
        isinstance(timeout_s, bool)
        or not isinstance(timeout_s, int | float)
        or not 0 < timeout_s <= LONGEST_TIMEOUT_S
    ):
        limit = f"a number of seconds over 0, at most {LONGEST_TIMEOUT_S:g}: longer work is a job"
        raise InvalidValue("consumer", field="timeout", value=timeout_s, limit=limit)
    return float(timeout_s)


async def tried(
    handle: Handle, received: Received, *, timeout_s: float, threads: HandlerThreads
) -> BaseException | None:
    """Run a handler in a thread that does nothing else meanwhile, and return what it raised.

    That is `HandlerStuck` once its time is up. A thread cannot be ended: it runs on, and keeps
    what it holds, but does not keep the process from ending.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[BaseException | None] = loop.create_future()

    def tell(raised: BaseException | None) -> None:
        if not ended.done():
            ended.set_result(raised)

    def run() -> None:
        raised = raised_by(handle, received)
        # What waited may be gone, and the loop with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, raised)

    threads.run(run)
    try:
        async with asyncio.timeout(timeout_s):
            return await ended
    except TimeoutError:
        return HandlerStuck(received.id, timeout_s=timeout_s)


def is_outage(raised: BaseException | None) -> bool:
    """Return whether the store is away, which says nothing about the message.

    A statement of the handler's that took too long is one of its failures: trying it again for
    ever, at no cost, would be a loop.
    """
    return isinstance(raised, UnavailableError) and not _took_too_long(raised)


def judged(error: BaseException, *, now: Instant) -> Failure:
    """Return the failure that an exception of a handler is."""
    if _took_too_long(error) and error.__cause__ is not None:
        return classify(error.__cause__, (), now=now)
    if isinstance(error, HandlerStuck):
        return Failure(
            error_class=ErrorClass.STAGE_TIMEOUT,
            message=f"the handler was not done after {error.timeout_s:g} s",
            category=Category.TRANSIENT,
            retryable=True,
            outcome_known=False,
        )
    if isinstance(error, RetryLater) or not is_failure(error):
        return _STOPPED
    return classify(error, (), now=now)


def invalid(why: str) -> Failure:
    """Return the failure that a message is which cannot be read."""
    return Failure(
        error_class=PAYLOAD_INVALID.error_class,
        message=why,
        category=PAYLOAD_INVALID.category,
        retryable=False,
    )


def log_failure(
    message_id: str | None, failure: Failure, *, queue: str, deliveries: int, again: bool
) -> None:
    """Log that a message failed, and whether it is tried again or is a dead letter."""
    LOGGER.log(
        logging.WARNING if again else logging.ERROR,
        "message %s %s: %s",
        message_id,
        "failed and is tried again" if again else "is a dead letter",
        failure.message,
        extra={
            "event": "message_failed" if again else "message_dead",
            "queue": queue,
            "message_id": message_id,
            "error_class": failure.error_class,
            "deliveries": deliveries,
        },
    )


def _took_too_long(error: BaseException) -> bool:
    return getattr(error.__cause__, "sqlstate", None) == _QUERY_CANCELED


def raised_by(handle: Handle, received: Received) -> BaseException | None:
    """Run a handler, and return what it raised: an exit must not end its thread without a trace."""
    try:
        handle(received)
    except BaseException as error:  # noqa: BLE001 - whatever ended the handler is judged
        return error
    return None
