"""How often a stage failed in the same way before, where what follows depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.job.decision import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.core.job.decision import Entry
    from holdfast.core.job.job import Job
    from holdfast.core.values.failure import Failure
    from holdfast.core.values.retry import Retry


def depends_on_repeats(job: Job, failure: Failure, retry: Retry) -> bool:
    """Return whether the attempts before this one decide if there is another, or when."""
    if not failure.spends_attempt:
        return failure.retryable
    limit = failure.attempts
    if limit is None or not failure.retryable or not 1 < limit <= job.attempt:
        return False
    return failure.own_budget or job.attempt < retry.attempts


def failed_alike(failure: Failure, history: Sequence[Entry]) -> int:
    """Count the attempts of the present stage that ended with the same error class before.

    `history` is oldest first. What was before the stage, or before a manual retry, is over.
    """
    count = 0
    for past in reversed(history):
        if past.kind in (Kind.ADVANCED, Kind.REVIVED):
            break
        count += past.kind is Kind.RETRIED and past.error_class == failure.error_class
    return count
