"""How a message that cannot be handled becomes a dead letter of the broker, and what that says.

The headers of a dead letter tell what the consumer knew. A consumer that died with the message in
its hands could say nothing; then the broker's own account is all there is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from holdfast.core.values.failure import Category, ErrorClass, Failure, clean_text
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.core.values.outbox import MAX_NAME_BYTES
from holdfast.errors import InvalidDocument, InvalidValue

FAILURE: Final = "holdfast-failure"
ATTEMPTS: Final = "holdfast-attempts"
FAILED_AT: Final = "holdfast-failed-at"
QUEUE: Final = "holdfast-queue"
DELIVERIES: Final = "x-delivery-count"
DEATHS: Final = "x-death"
MAX_ATTEMPTS: Final = 1_000_000
"""What says that there were more says nothing."""
_OWN: Final = (FAILURE, ATTEMPTS, FAILED_AT, QUEUE)
_OF_THE_BROKER: Final = (DELIVERIES, DEATHS, "x-first-death-exchange", "x-first-death-queue")

_REASONS: Final = {
    "delivery_limit": (
        ErrorClass.WORKER_CRASH,
        "it was handed out as often as its queue allows, and nobody could say why it failed",
    ),
    "rejected": (ErrorClass.INVALID, "a consumer rejected it and did not say why"),
    "expired": (ErrorClass.TIMEOUT, "nobody took it in time"),
    "maxlen": (ErrorClass.SATURATED, "its queue was full"),
}


def headers_of_letter(
    headers: Mapping[str, Any], failure: Failure, *, attempts: int, queue: str, now: Instant
) -> dict[str, Any]:
    """Return the headers of a message as its dead letter is to have them."""
    own = {
        FAILURE: json.dumps(failure.to_document(), ensure_ascii=False),
        ATTEMPTS: attempts,
        FAILED_AT: to_rfc3339(now),
        QUEUE: queue,
    }
    return {**without_past(headers), **own}


def without_past(headers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the headers without what was noted about earlier deaths."""
    gone = {*_OWN, *_OF_THE_BROKER}
    return {name: value for name, value in headers.items() if name not in gone}


def failure_of(headers: Mapping[str, Any]) -> Failure:
    """Return why a dead letter of the broker is one."""
    told = headers.get(FAILURE)
    if isinstance(told, str):
        try:
            return Failure.from_document(json.loads(told))
        except (ValueError, TypeError, KeyError, RecursionError, InvalidDocument, InvalidValue):
            pass  # something else wrote there
    reason = str(_last_death(headers).get("reason", ""))
    error_class, message = _REASONS.get(
        reason, (ErrorClass.BUG, f"the broker says {reason or 'nothing'} about why")
    )
    return Failure(
        error_class=error_class,
        message=message,
        category=Category.PERMANENT,
        retryable=error_class is ErrorClass.WORKER_CRASH,
        outcome_known=error_class is not ErrorClass.WORKER_CRASH,
    )


def attempts_of(headers: Mapping[str, Any]) -> int:
    """Return how often a dead letter was handed out, as far as anybody says."""
    for told in (headers.get(ATTEMPTS), headers.get(DELIVERIES)):
        if isinstance(told, int) and 0 < told <= MAX_ATTEMPTS:
            return told
    return 1


def queue_of(headers: Mapping[str, Any], default: str) -> str:
    """Return the queue in which a dead letter died."""
    told = headers.get(QUEUE) or _last_death(headers).get("queue")
    return clean_text(told, MAX_NAME_BYTES) if isinstance(told, str) else default


def _last_death(headers: Mapping[str, Any]) -> Mapping[str, Any]:
    deaths = headers.get(DEATHS)
    first = deaths[0] if isinstance(deaths, list) and deaths else None
    return first if isinstance(first, dict) else {}
