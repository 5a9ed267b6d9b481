"""Why a recording could not be transcribed, apart from what the SDK raises."""

from __future__ import annotations

from grading.failures import GradingFailure
from grading.states import FailureReason


class RecogniserFailed(Exception):
    """The recogniser's process crashed, ran out of time or memory; another attempt may succeed."""


class MalformedTranscript(GradingFailure):
    """A provider answered something that is no transcript."""

    def __init__(self, message: str) -> None:
        super().__init__(FailureReason.PROVIDER_ERROR, message)
