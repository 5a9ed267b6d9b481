"""Recordings: stored by content, decoded in a confined child process, and measured."""

from grading.audio.errors import (
    AudioDecodeError,
    AudioTooLarge,
    AudioUnavailable,
    DecodeProblem,
    DecoderFailed,
    NotAudio,
)
from grading.audio.links import OwnLinks, SignedLinks
from grading.audio.records import (
    MAX_SECONDS,
    MIN_SECONDS,
    SAMPLE_RATE_HZ,
    Decoded,
    DecodeLimits,
    StoredAudio,
)

__all__ = [
    "MAX_SECONDS",
    "MIN_SECONDS",
    "SAMPLE_RATE_HZ",
    "AudioDecodeError",
    "AudioTooLarge",
    "AudioUnavailable",
    "DecodeLimits",
    "DecodeProblem",
    "Decoded",
    "DecoderFailed",
    "NotAudio",
    "OwnLinks",
    "SignedLinks",
    "StoredAudio",
]
