"""Grades sample texts whose bands are known, to see how far a grader is off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple

from grading.calls import RawAnswer
from grading.llm import Assessor, AssessTask, evidence_of
from grading.questions import Question, Questions
from grading.result import Cost, Result
from grading.scoring.score import score_speaking, score_writing
from grading.speech import SpeechFacts, Transcript
from grading.states import Skill

BANDS: Final = ("below B1", "B1", "B2", "C1")
_SEPARATOR: Final = "---"
_SPOKEN_PER_MINUTE: Final = 90.0
"""The speed that transcripts without a recording are taken to have been spoken with."""
_TIMEOUT_S: Final = 60.0


class BadSample(ValueError):
    """A file that is no sample, and why."""


class Sample(NamedTuple):
    """A text, the question that it answers, and the band that it should get."""

    name: str
    question: Question
    expected: str
    text: str


class Calibrated(NamedTuple):
    """What a sample should get, and what it got."""

    sample: Sample
    result: Result

    @property
    def got(self) -> str:
        """The band that it got."""
        return self.result.band or BANDS[0]

    @property
    def steps_off(self) -> int:
        """How many bands it is too high; negative where it is too low."""
        return BANDS.index(self.got) - BANDS.index(self.sample.expected)


def packaged_samples() -> Traversable:
    """Return the folder of the samples of this package."""
    return files("grading.samples")


def read_samples(folder: Traversable | Path, *, questions: Questions) -> list[Sample]:
    """Return the samples in a folder, by name; raises `BadSample` for a text that is none.

    A sample is a text file: a line `question: ID`, a line `expected: BAND`, a line `---`, the text.
    """
    found = sorted(
        (each for each in folder.iterdir() if each.name.endswith(".txt")),
        key=lambda each: each.name,
    )
    return [
        _sample(each.name.removesuffix(".txt"), each.read_text(encoding="utf-8"), questions)
        for each in found
    ]


def calibrate(
    samples: Iterable[Sample], *, assessor: Assessor, graded_at: datetime
) -> list[Calibrated]:
    """Grade each sample once and return what it got; the assessor's errors are raised."""
    return [Calibrated(each, _graded(each, assessor, graded_at)) for each in samples]


def table(calibrated: Sequence[Calibrated]) -> list[str]:
    """Return lines that show expected and got side by side, with a summary at the end."""
    width = max((len(each.sample.name) for each in calibrated), default=0)
    lines = [f"{'sample':{width}}  expected  got       score  off"]
    lines += [
        f"{each.sample.name:{width}}  {each.sample.expected:8}  {each.got:8}  "
        f"{each.result.overallScore:5.1f}  {each.steps_off:+d}"
        for each in calibrated
    ]
    exact = sum(each.steps_off == 0 for each in calibrated)
    close = sum(abs(each.steps_off) <= 1 for each in calibrated)
    lines.append(f"{exact} of {len(calibrated)} as expected, {close} at most one band off")
    return lines


def grade_text(text: str, question: Question, *, assessor: Assessor, graded_at: datetime) -> Result:
    """Return the result of a text, without a store; a transcript is graded without its sound."""
    return _graded(Sample("text", question, BANDS[0], text), assessor, graded_at)


def _sample(name: str, content: str, questions: Questions) -> Sample:
    head, separator, text = content.partition(f"\n{_SEPARATOR}\n")
    if not separator:
        raise BadSample(f"{name}: no line with {_SEPARATOR} between its head and its text")
    said = {
        key.strip(): value.strip()
        for key, _, value in (line.partition(":") for line in head.splitlines())
    }
    question = questions.get(said.get("question", ""))
    if question is None:
        raise BadSample(f"{name}: there is no question {said.get('question', '')!r}")
    if said.get("expected") not in BANDS:
        raise BadSample(f"{name}: expected must be one of {', '.join(BANDS)}")
    return Sample(name, question, said["expected"], text.strip())


def _graded(sample: Sample, assessor: Assessor, graded_at: datetime) -> Result:
    task = AssessTask.of(sample.question, sample.text)
    answer = assessor.assess(
        task, token=f"calibrate-{sample.name}", timeout_s=_TIMEOUT_S, headers={}
    )
    evidence = evidence_of(answer)
    if task.skill is Skill.WRITING:
        return score_writing(
            [evidence],
            text=sample.text,
            question=task,
            grader=assessor.name,
            graded_at=graded_at,
            cost=_cost(answer),
        )
    words = len(sample.text.split())
    seconds = 60 * words / _SPOKEN_PER_MINUTE
    return score_speaking(
        [evidence],
        transcript=Transcript(sample.text, [], "text"),
        speech=SpeechFacts(seconds, seconds, 0, 0.0, _SPOKEN_PER_MINUTE),
        audio_flags=[],
        task=task,
        grader=assessor.name,
        graded_at=graded_at,
        cost=_cost(answer),
    )


def _cost(answer: RawAnswer) -> Cost:
    return Cost.model_validate(answer.usage)
