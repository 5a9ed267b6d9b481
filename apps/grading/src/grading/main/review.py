"""What a teacher's grade makes of a result: pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, NamedTuple

from grading.result import MAX_SCORE, band_of

MAX_DIFFERENCE: Final = 0.5
MAX_BAND_STEPS: Final = 1
MACHINE_WEIGHT: Final = 0.4
HUMAN_WEIGHT: Final = 0.6
NO_FEEDBACK: Final[dict[str, Any]] = {"strengths": [], "weaknesses": [], "suggestions": []}
PRIORITIES: Final = ("Critical", "High", "Medium")
_BANDS: Final = (None, "B1", "B2", "C1")


class HumanScores(NamedTuple):
    """The scores that a teacher gives."""

    overall: float
    band: str | None
    criteria: dict[str, float]
    """Those that differ from the grader's; empty leaves all of them."""


class Merged(NamedTuple):
    """The final scores, and how they came about."""

    overall: float
    band: str | None
    criteria: dict[str, float]
    mode: str
    """`hybrid` or `human`."""
    audit: bool


def half_steps(value: float) -> float:
    """Return a score rounded to the next half, ties up."""
    return min(max(int(value * 2 + 0.5) / 2, 0.0), MAX_SCORE)


def merge(machine: dict[str, Any], human: HumanScores) -> Merged:
    """Return the final scores of a result.

    Where both are close, 40 % of the grader's and 60 % of the teacher's count. Otherwise the
    teacher's count alone, also of the criteria, and the result is to be audited.
    """
    machine_overall = float(machine["overallScore"])
    given: dict[str, float] = dict(machine["criteriaScores"])
    steps = abs(_BANDS.index(machine["band"]) - _BANDS.index(human.band))
    close = abs(machine_overall - human.overall) <= MAX_DIFFERENCE and steps <= MAX_BAND_STEPS
    if not close:
        return Merged(human.overall, human.band, dict(human.criteria), "human", audit=True)
    overall = _mixed(machine_overall, human.overall)
    criteria = {
        name: _mixed(score, human.criteria[name]) if name in human.criteria else score
        for name, score in given.items()
    }
    return Merged(overall, band_of(overall), criteria, "hybrid", audit=False)


def _mixed(machine: float, human: float) -> float:
    # Rounded first: 0.4 and 0.6 are no binary fractions, and ties must go up.
    return half_steps(round(MACHINE_WEIGHT * machine + HUMAN_WEIGHT * human, 6))


def final_result(
    machine: dict[str, Any],
    merged: Merged,
    *,
    feedback: dict[str, Any] | None,
    comment: str | None,
    at: datetime,
) -> dict[str, Any]:
    """Return the result that replaces the grader's.

    Where the teacher's scores count alone, the grader's reasons for its own are left out.
    """
    alone = merged.mode == "human"
    usual = NO_FEEDBACK if alone else machine.get("feedback")
    basis: dict[str, str] = machine.get("basis") or {}
    return machine | {
        "overallScore": merged.overall,
        "band": merged.band,
        "criteriaScores": merged.criteria,
        "feedback": usual if feedback is None else feedback,
        "reviewComment": comment,
        "caps": [] if alone else machine.get("caps", []),
        "basis": {} if alone else basis,
        "gradingMode": merged.mode,
        "auditFlag": merged.audit,
        "reviewRequired": False,
        "reviewPriority": None,
        "gradedAt": at.isoformat().replace("+00:00", "Z"),
    }


def urgency_of(result: dict[str, Any]) -> int:
    """Return how early a result is to be reviewed: 0 before 1 before 2."""
    stated = result.get("reviewPriority")
    if stated in PRIORITIES:
        return PRIORITIES.index(stated)
    confidence = result.get("confidenceScore", 0)
    return 0 if confidence < 50 else 1 if confidence < 70 else 2  # noqa: PLR2004 - the rubric's
