"""The history of a submission in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from grading.main.views.derive import line_of
from grading.main.views.view import HistoryEntry
from grading.states import FailureReason, Step
from grading.tables.times import from_us


class _Line(Protocol):
    """A line of a job's history, as the engine gives it."""

    @property
    def at(self) -> int: ...

    @property
    def event(self) -> str: ...

    @property
    def meta(self) -> dict[str, Any]: ...


_PLAIN: Final = {
    "queued": ("created", "It was handed in."),
    "suspended": ("requested", "It is on its way to the grader."),
    "completed": ("completed", "The result is there."),
    "expired": ("timed_out", "The deadline has passed without a result."),
    "late": ("late", "A result came after the deadline; it is kept and changes nothing."),
    "revived": ("retried", "An operator has it graded again."),
    "cancelled": ("cancelled", "It was withdrawn."),
}
_STEPS: Final = {
    Step.QUEUED: ("taken", "The grader has taken it."),
    Step.TRANSCRIBING: ("transcribing", "The recording is transcribed."),
    Step.ANALYZING: ("analyzing", "The answer is assessed."),
    Step.SCORING: ("scoring", "The scores are computed."),
    Step.RETRYING: ("retrying", "A call failed and is tried again."),
    Step.CIRCUIT_OPEN: ("circuit_open", "The grading service is away; it goes on by itself."),
}


def history_of(lines: Sequence[_Line]) -> list[HistoryEntry]:
    """Return what happened to a submission, oldest first."""
    found = []
    for line in lines:
        named = _named(line.event, line.meta)
        if named is not None:
            found.append(HistoryEntry(from_us(line.at), *named))
    return found


def _named(event: str, meta: dict[str, Any]) -> tuple[str, str] | None:
    if event == "progress":
        step = str(meta.get("note", "")).partition(":")[0]
        return _STEPS.get(Step(step)) if step in set(Step) else None
    if event == "failed":
        reason = str(meta.get("error_code", ""))
        known = FailureReason(reason) if reason in set(FailureReason) else FailureReason.INTERNAL
        return "failed", line_of(known)
    return _PLAIN.get(event)
