"""Recordings: stored by content, decoded in a confined child process, and measured."""

from grading.audio.decoding import decode
from grading.audio.errors import (
    AudioDecodeError,
    AudioTooLarge,
    AudioUnavailable,
    DecodeProblem,
    DecoderFailed,
    NotAudio,
)
from grading.audio.facts import speech_facts
from grading.audio.ffmpeg import ffmpeg_program
from grading.audio.links import OwnLinks, SignedLinks
from grading.audio.network.fetching import check_url, fetch
from grading.audio.records import (
    MAX_SECONDS,
    MIN_SECONDS,
    SAMPLE_RATE_HZ,
    Decoded,
    DecodeLimits,
    StoredAudio,
)
from grading.audio.rules import AUDIO_RULES
from grading.audio.store import AudioStore, Upload

__all__ = [
    "AUDIO_RULES",
    "MAX_SECONDS",
    "MIN_SECONDS",
    "SAMPLE_RATE_HZ",
    "AudioDecodeError",
    "AudioStore",
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
    "Upload",
    "check_url",
    "decode",
    "fetch",
    "ffmpeg_program",
    "speech_facts",
]
