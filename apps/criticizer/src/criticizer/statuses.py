"""The words for where a review and its deliveries stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast import JobState, JobView
from holdfast.deliveries import DeliveryState, DeliveryView

SUCCEEDED: Final = "succeeded"
IN_PROGRESS: Final = "in_progress"
RETRYABLE_FAILED: Final = "retryable_failed"
DEAD_LETTERED: Final = "dead_lettered"
CANCELLED: Final = "cancelled"

_OF_JOB: Final = {
    JobState.COMPLETE: SUCCEEDED,
    JobState.FAILED: DEAD_LETTERED,
    JobState.CANCELLED: CANCELLED,
}
_OF_DELIVERY: Final = {DeliveryState.INTENT: "pending"}


def status_of(view: JobView, deliveries: Sequence[DeliveryView]) -> str:
    """Return the word for a review; one that failed and is tried again is `retryable_failed`.

    A review has succeeded only while every recipient has its mail: one whose mark was taken back,
    because the provider knew nothing of it, goes back until it is sent again.
    """
    if view.state is JobState.QUEUED and view.job.attempt:
        return RETRYABLE_FAILED
    unsent = [each for each in deliveries if each.state is not DeliveryState.SENT]
    if unsent and view.state in (JobState.WAITING, JobState.COMPLETE):
        failed = any(each.delivery.error_class is not None for each in unsent)
        return RETRYABLE_FAILED if failed else IN_PROGRESS
    return _OF_JOB.get(view.state, IN_PROGRESS)


def delivery_status_of(state: DeliveryState) -> str:
    """Return the word for a delivery: pending, sending, sent, failed or unknown."""
    return _OF_DELIVERY.get(state, state.value)
