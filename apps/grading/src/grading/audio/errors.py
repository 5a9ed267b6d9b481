"""What may be wrong with a recording."""

from __future__ import annotations

from enum import StrEnum

from grading.failures import GradingFailure
from grading.states import FailureReason


class NotAudio(GradingFailure):
    """The content is no recording, whatever it is called."""

    def __init__(self, message: str = "The file is not an audio recording.") -> None:
        super().__init__(FailureReason.AUDIO_DECODE_ERROR, message)


class AudioTooLarge(GradingFailure):
    """The file has more bytes than one may have."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(
            FailureReason.AUDIO_DECODE_ERROR, f"The file is larger than {max_bytes} bytes."
        )
        self.max_bytes = max_bytes


class DecodeProblem(StrEnum):
    """Why a recording cannot be decoded."""

    NOT_AUDIO = "not_audio"
    NO_AUDIO_STREAM = "no_audio_stream"
    NO_SAMPLES = "no_samples"
    UNREADABLE = "unreadable"
    TOO_LONG = "too_long"
    TOO_SHORT = "too_short"
    TOO_COSTLY = "too_costly"


class AudioDecodeError(GradingFailure):
    """A recording that no attempt can decode."""

    def __init__(self, problem: DecodeProblem, message: str) -> None:
        super().__init__(FailureReason.AUDIO_DECODE_ERROR, message)
        self.problem = problem


class DecoderFailed(Exception):
    """The decoder failed for a reason outside the recording, so another attempt may succeed."""


class AudioUnavailable(GradingFailure):
    """A recording that cannot be had from its URL.

    `retryable` where another attempt may succeed: the other side is away, slow or failing.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(FailureReason.AUDIO_UNAVAILABLE, message)
        self.retryable = retryable
