"""The words of the grading document: skills, states, reasons and steps."""

from __future__ import annotations

from enum import StrEnum


class Skill(StrEnum):
    """What is graded."""

    WRITING = "writing"
    SPEAKING = "speaking"


class Status(StrEnum):
    """How far a submission has come."""

    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    REVIEW_REQUIRED = "REVIEW_REQUIRED"
    """Graded, and to be looked at by a teacher; only where reviews are switched on."""
    FAILED = "FAILED"


class FailureReason(StrEnum):
    """Why a submission is FAILED."""

    TIMEOUT = "TIMEOUT"
    INVALID_SCHEMA = "INVALID_SCHEMA"
    AUDIO_DECODE_ERROR = "AUDIO_DECODE_ERROR"
    AUDIO_UNAVAILABLE = "AUDIO_UNAVAILABLE"
    PROVIDER_ERROR = "PROVIDER_ERROR"
    PROVIDER_AUTH = "PROVIDER_AUTH"
    CONTENT_POLICY = "CONTENT_POLICY"
    MAX_RETRIES = "MAX_RETRIES"
    WORKER_LOST = "WORKER_LOST"
    CANCELLED = "CANCELLED"
    INTERNAL = "INTERNAL"


class Step(StrEnum):
    """What is done about a submission that has not ended."""

    QUEUED = "queued"
    TRANSCRIBING = "transcribing"
    ANALYZING = "analyzing"
    SCORING = "scoring"
    RETRYING = "retrying"
    CIRCUIT_OPEN = "circuit_open"


CIRCUIT_OPEN = "CIRCUIT_OPEN"
"""The code of an error callback that is a notice: the request is retried after the cooldown."""
