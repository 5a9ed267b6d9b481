"""What the stages of a grader work with; a test may give each of them another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from grading.audio.records import Decoded
from grading.calls import RawAnswer
from grading.grader.work_files import WorkFiles
from grading.llm import Assessor, AssessTask
from grading.result import Cost, Result
from grading.scoring.evidence import Evidence
from grading.speech import SpeechFacts, Transcriber, Transcript
from holdfast.classify import Rule


class ScoreWriting(Protocol):
    """Computes the result of an essay."""

    def __call__(
        self,
        evidences: Sequence[Evidence],
        *,
        text: str,
        question: AssessTask,
        grader: str,
        graded_at: datetime,
        cost: Cost,
    ) -> Result:
        """Return the result; the same input gives the same result."""


class ScoreSpeaking(Protocol):
    """Computes the result of a recording."""

    def __call__(
        self,
        evidences: Sequence[Evidence],
        *,
        transcript: Transcript,
        speech: SpeechFacts,
        audio_flags: Sequence[str],
        task: AssessTask,
        grader: str,
        graded_at: datetime,
        cost: Cost,
    ) -> Result:
        """Return the result; the same input gives the same result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTools:
    """For assessing and scoring."""

    assessor: Assessor
    evidence_of: Callable[[RawAnswer], Evidence]
    """Raises `MalformedAnswer`."""
    score_writing: ScoreWriting
    score_speaking: ScoreSpeaking
    rules: Sequence[Rule] = ()
    timeout_s: float = 60.0
    runs: int = 1
    is_paid: bool = True
    """Whether calls cost something, so that their answers are kept in the journal."""
    max_cost_usd_per_day: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechTools:
    """For fetching, decoding and transcribing."""

    transcriber: Transcriber
    fetch: Callable[[str, str, Path], None]
    """Fetches from a URL the bytes of a SHA-256 into a file."""
    stored: Callable[[str], Path | None]
    """Return the file of a SHA-256 where this machine has it already; raises where it changed."""
    decode: Callable[[Path, Path], Decoded]
    """Decodes a file into a folder."""
    facts: Callable[[Decoded, Transcript], SpeechFacts]
    work: WorkFiles
    rules: Sequence[Rule] = ()
    fetch_rules: Sequence[Rule] = ()
    timeout_s: float = 120.0
    decode_timeout_s: float = 240.0
    is_paid: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Everything that stages work with."""

    text: TextTools
    speech: SpeechTools | None = None
    """None where recordings are not graded."""
