"""`grading grade`, `transcribe` and `calibrate`: what needs no server and no database."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from grading.audio import DecodeLimits, decode, speech_facts
from grading.cli.output import (
    ExitCode,
    document,
    exit_with,
    json_option,
    line,
    reports_errors,
    table,
)
from grading.cli.results import print_result
from grading.llm import AssessTask, LlmConfig, evidence_of, open_assessor
from grading.questions import Question, packaged
from grading.result import Cost, Result
from grading.samples import calibrated
from grading.scoring.score import score_speaking, score_writing
from grading.speech import SttConfig, Transcript, open_transcriber
from grading.states import Skill
from holdfast.variables import Variables

_FREE_TASK: Final = Question(
    id="free",
    skill=Skill.WRITING,
    title="Any text",
    prompt="",
    requirements=(),
    number=2,
    minimum_words=250,
    keywords=(),
)
