"""`grading grade`, `transcribe` and `calibrate`: what needs no server and no database."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import click

from grading.audio import Decoded, DecodeLimits, decode, speech_facts
from grading.calls import RawAnswer
from grading.cli.output import (
    ExitCode,
    document,
    exit_with,
    json_option,
    line,
    reports_errors,
)
from grading.cli.results import print_result
from grading.config import SYSTEM_NAME
from grading.llm import AssessTask, LlmConfig, evidence_of, open_assessor
from grading.questions import Question, minimum_words, packaged
from grading.result import Cost, Result
from grading.samples.calibrate import BadSample, packaged_samples, read_samples, table
from grading.samples.calibrate import calibrate as calibrated
from grading.scoring.score import score_speaking, score_writing
from grading.speech import SttConfig, Transcript, open_transcriber
from grading.states import Skill
from holdfast.errors import UsageError
from holdfast.variables import Variables

_TEXT_SUFFIXES: Final = frozenset({"", ".txt", ".md", ".text"})


class _Spoken(NamedTuple):
    decoded: Decoded
    transcript: Transcript
    usage: dict[str, float]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--question", metavar="ID", help="What it answers; without it, any topic.")
@click.option("--audio", "is_audio", is_flag=True, help="FILE is a recording, whatever its name.")
@json_option
@reports_errors
def grade(*, file: str, question: str | None, is_audio: bool, as_json: bool) -> None:
    """Grade the essay or the recording in FILE here and now, and store nothing.

    `-` reads an essay from stdin. With LLM_BASE_URL or STT_BASE_URL that provider is called.

    Example: grading grade essay.txt --question w2-tourism
    """
    path = None if file == "-" else Path(file)
    spoken = path is not None and (is_audio or path.suffix.lower() not in _TEXT_SUFFIXES)
    skill = Skill.SPEAKING if spoken else Skill.WRITING
    asked = _question(question, skill)
    if spoken and path is not None:
        result = _graded_recording(path, asked)
    else:
        text = sys.stdin.read() if path is None else path.read_text("utf-8", errors="replace")
        result = _graded_essay(text, asked)
    if as_json:
        document(result.model_dump(mode="json"))
    else:
        print_result(result.model_dump(mode="json"))


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@reports_errors
def transcribe(*, file: Path, as_json: bool) -> None:
    """Print what is said in the recording in FILE."""
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        spoken = _listened(file, Path(folder))
    if as_json:
        document(
            {
                "text": spoken.transcript.text,
                "seconds": spoken.decoded.seconds,
                "flags": spoken.decoded.flags,
                "provider": spoken.transcript.provider,
                "segments": [segment._asdict() for segment in spoken.transcript.segments],
            }
        )
        return
    line(spoken.transcript.text)


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False))
@json_option
@reports_errors
def calibrate(*, folder: str | None, as_json: bool) -> None:
    """Grade sample texts of a known band, and compare; FOLDER has your own.

    A sample is a text file: a line `question: ID`, a line `expected: BAND`, a line `---`, then the
    text. Ends with 1 where one is more than a band off.
    """
    try:
        samples = read_samples(
            packaged_samples() if folder is None else Path(folder), questions=packaged()
        )
    except BadSample as error:
        raise UsageError(str(error)) from error
    found = calibrated(samples, assessor=open_assessor(_llm()), graded_at=_now())
    if as_json:
        document(
            [
                {
                    "sample": each.sample.name,
                    "expected": each.sample.expected,
                    "got": each.got,
                    "score": each.result.overallScore,
                    "stepsOff": each.steps_off,
                }
                for each in found
            ]
        )
    else:
        for text in table(found):
            line(text)
    if any(abs(each.steps_off) > 1 for each in found):
        exit_with(ExitCode.FAILED)


def _question(wanted: str | None, skill: Skill) -> Question:
    if wanted is None:
        number = 2 if skill is Skill.WRITING else 1
        return Question(
            id="any",
            skill=skill,
            number=number,
            title="Any topic",
            prompt="",
            minimum_words=minimum_words(skill, number),
        )
    found = packaged().get(wanted)
    if found is None or found.skill is not skill:
        known = ", ".join(question.id for question in packaged().all(skill))
        raise UsageError(f"there is no {skill} question {wanted!r}; there are {known}")
    return found


def _graded_essay(text: str, question: Question) -> Result:
    task = AssessTask.of(question, text)
    raws = _assessed(task)
    return score_writing(
        [evidence_of(raw) for raw in raws],
        text=text,
        question=task,
        grader=raws[0].provider,
        graded_at=_now(),
        cost=_cost(raws),
    )


def _graded_recording(path: Path, question: Question) -> Result:
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        spoken = _listened(path, Path(folder))
        facts = speech_facts(spoken.decoded, spoken.transcript)
    task = AssessTask.of(question, spoken.transcript.text)
    raws = _assessed(task)
    return score_speaking(
        [evidence_of(raw) for raw in raws],
        transcript=spoken.transcript,
        speech=facts,
        audio_flags=spoken.decoded.flags,
        task=task,
        grader=raws[0].provider,
        graded_at=_now(),
        cost=_cost(raws),
    )


def _assessed(task: AssessTask) -> list[RawAnswer]:
    config = _llm()
    assessor = open_assessor(config)
    return [
        assessor.assess(task, token=_token(), timeout_s=config.timeout_s, headers={})
        for _ in range(config.runs)
    ]


def _listened(path: Path, folder: Path) -> _Spoken:
    config = SttConfig.from_variables(_variables())
    decoded = decode(path, folder, limits=DecodeLimits())
    if decoded.is_silent:
        return _Spoken(decoded, Transcript("", [], "none"), {})
    raw = open_transcriber(config).transcribe(
        decoded.path, token=_token(), timeout_s=config.timeout_s, headers={}
    )
    return _Spoken(decoded, Transcript.from_raw(raw), raw.usage)


def _cost(raws: list[RawAnswer]) -> Cost:
    return Cost(
        usd=sum(raw.usage.get("usd", 0.0) for raw in raws),
        inputTokens=sum(raw.usage.get("inputTokens", 0) for raw in raws),
        outputTokens=sum(raw.usage.get("outputTokens", 0) for raw in raws),
    )


def _llm() -> LlmConfig:
    return LlmConfig.from_variables(_variables())


def _variables() -> Variables:
    return Variables.of(os.environ, system=SYSTEM_NAME)


def _token() -> str:
    return f"terminal:{uuid.uuid4()}"


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - there is no store whose clock could be used
