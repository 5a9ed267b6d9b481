"""Why a stage has failed whose required recipients could not all be reached."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.log import FAILURES, DeliveryAttempt
from holdfast.core.job.event import Exhausted
from holdfast.core.values.failure import WORKER_LOST, Failure
from holdfast.core.values.instant import Instant
from holdfast.runtime.deliveries.log import masked

MAX_NAMED: Final = 3


def exhausted(
    stuck: Sequence[Delivery],
    log: Mapping[str, Sequence[DeliveryAttempt]],
    *,
    required: int,
    since: Instant,
    now: Instant,
) -> Exhausted:
    """Return the end of a stage that asked at `since`: `stuck` of its deliveries were not sent.

    How often they were sent, and when that first failed, their logs say.
    """
    failures = {row.id: [line for line in log[row.id] if line.outcome in FAILURES] for row in stuck}
    lately = {key: [line for line in lines if line.at >= since] for key, lines in failures.items()}
    # A stage that asks for what failed before it has no failures of its own.
    counted = lately if any(lately.values()) else failures
    return Exhausted(
        _failure(stuck, required),
        attempts=max(max(row.attempts, len(counted[row.id])) for row in stuck),
        first_at=min((line.at for lines in counted.values() for line in lines), default=now),
    )


def _failure(stuck: Sequence[Delivery], required: int) -> Failure:
    """Return the failure of the stage: one that no repetition cures stands for all."""
    failures = [_last_failure(row) for row in stuck]
    gravest = min(failures, key=lambda failure: failure.retryable)
    named = "; ".join(
        _named(row, failure)
        for row, failure in zip(stuck[:MAX_NAMED], failures[:MAX_NAMED], strict=True)
    )
    more = f"; and {len(stuck) - MAX_NAMED} more" if len(stuck) > MAX_NAMED else ""
    return gravest._replace(
        message=f"{len(stuck)} of {required} required recipients were not reached: {named}{more}",
        outcome_known=all(row.state is not DeliveryState.UNKNOWN for row in stuck),
    )


def _last_failure(row: Delivery) -> Failure:
    return WORKER_LOST if row.error is None else Failure.from_document(json.loads(row.error))


def _named(row: Delivery, failure: Failure) -> str:
    sends = "1 send" if row.attempts == 1 else f"{row.attempts} sends"
    became = "failed" if row.state is DeliveryState.FAILED else "is unknown"
    return f"delivery {row.id} to {masked(row.recipient)} {became} after {sends}: {failure.message}"
