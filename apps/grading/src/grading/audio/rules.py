"""What it means for a grading that its recording cannot be had or decoded."""

from __future__ import annotations

from typing import Final

from grading.audio.errors import AudioUnavailable, DecoderFailed
from grading.failures import GradingFailure
from holdfast.classify import Rule, Verdict


def _verdict_of_failure(failure: GradingFailure, _now: object) -> Verdict:
    is_passing = isinstance(failure, AudioUnavailable) and failure.retryable
    return Verdict(failure.reason.value, retryable=is_passing, blames_upstream=False)


AUDIO_RULES: Final = (
    Rule(GradingFailure, _verdict_of_failure),
    Rule(DecoderFailed, Verdict("DECODER_FAILED", retryable=True, blames_upstream=False)),
)
"""What a stage that fetches or decodes says of exceptions, by the words of `FailureReason`."""
