"""Failures of the grader that no retry mends, each with the reason that main is given."""

from __future__ import annotations

from grading.states import FailureReason


class GradingFailure(Exception):
    """A request cannot be graded; `message` holds no text of the learner's and no secret."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        self.reason = FailureReason(reason)
        self.message = message
        super().__init__(reason, message)

    def __str__(self) -> str:
        return self.message
