"""How far a submission has come, by the events of its grader."""

from __future__ import annotations

from typing import Final, NamedTuple

from grading.states import Step

RANKS: Final = {Step.QUEUED: 0, Step.TRANSCRIBING: 1, Step.ANALYZING: 2, Step.SCORING: 3}
"""Steps that follow one another; the others may come at any time and keep the rank."""


class ProgressEvent(NamedTuple):
    """One event of a grader about one run of a submission."""

    run: int
    event_id: str
    at_us: int
    step: Step
    progress: float
    message: str


class Progress(NamedTuple):
    """The step that counts."""

    run: int
    event_id: str
    at_us: int
    rank: int
    """The highest that was reached in this run."""
    step: Step
    progress: float
    message: str
