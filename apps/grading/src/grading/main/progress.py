"""How far a submission has come, by the events of its grader: pure."""

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


def after(known: Progress | None, event: ProgressEvent) -> Progress | None:
    """Return what an event makes of what is known; None when it changes nothing.

    A step never goes back, and neither does the share that is done.
    """
    rank = RANKS.get(event.step)
    if known is None or event.run > known.run:
        return _of(event, rank or 0, event.progress)
    if event.run < known.run or event.at_us < known.at_us or event.event_id == known.event_id:
        return None
    if rank is not None and rank < known.rank:
        return None
    return _of(event, max(known.rank, rank or 0), max(known.progress, event.progress))


def _of(event: ProgressEvent, rank: int, progress: float) -> Progress:
    return Progress(
        event.run, event.event_id, event.at_us, rank, event.step, progress, event.message
    )
