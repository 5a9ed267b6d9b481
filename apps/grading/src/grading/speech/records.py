"""What was said in a recording, and how."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from grading.calls import RawAnswer


class Segment(NamedTuple):
    """Some words and when they were said."""

    start_s: float
    end_s: float
    text: str
    confidence: float | None
    """From 0 to 1; None where the provider does not say."""


class Transcript(NamedTuple):
    """What was said. Providers that give no times give no segments."""

    text: str
    segments: list[Segment]
    provider: str

    @property
    def confidence(self) -> float | None:
        """The mean confidence of the segments by their length; None where none has one."""
        known = [
            (segment.confidence, max(len(segment.text), 1))
            for segment in self.segments
            if segment.confidence is not None
        ]
        weight = sum(length for _, length in known)
        return sum(value * length for value, length in known) / weight if known else None

    @classmethod
    def from_raw(cls, raw: RawAnswer) -> Transcript:
        """Return the transcript in an answer; `MalformedTranscript` where there is none."""
        from grading.speech.answers import transcript_in  # noqa: PLC0415 - it uses this module

        return transcript_in(raw)


class SpeechFacts(NamedTuple):
    """How a learner spoke, as measured on the recording."""

    seconds: float
    speech_seconds: float
    pauses: int
    longest_pause_s: float
    words_per_minute: float

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON, for a checkpoint."""
        return dict(self._asdict())

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> SpeechFacts:
        """Return what `to_document` made a document of."""
        return cls(
            seconds=float(document["seconds"]),
            speech_seconds=float(document["speech_seconds"]),
            pauses=int(document["pauses"]),
            longest_pause_s=float(document["longest_pause_s"]),
            words_per_minute=float(document["words_per_minute"]),
        )


class Transcriber(Protocol):
    """Turns a recording into words, by one call."""

    @property
    def name(self) -> str:
        """What it is called in results, such as `moonshine` or `openai:whisper-1`."""

    def transcribe(
        self, path: Path, *, token: str, timeout_s: float, headers: Mapping[str, str]
    ) -> RawAnswer:
        """Return the answer to one call about a decoded recording.

        `token` is the same over all attempts, so that a provider that knows idempotency keys
        charges once; `headers` are sent with the call. Retries are the caller's.
        """
