"""Why a grading ends without a result, in the words of the document."""

from __future__ import annotations

from grading.states import FailureReason


class GradingFailure(Exception):
    """A grading that cannot go on. Its message is for people and holds nothing of the answer."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        # Subclasses have other arguments, and failures travel from child processes.
        return (_restored, (type(self), self.args, self.__dict__))


def _restored(
    kind: type[GradingFailure], args: tuple[object, ...], facts: dict[str, object]
) -> GradingFailure:
    failure = kind.__new__(kind, *args)
    failure.args = args
    failure.__dict__.update(facts)
    return failure
