"""A submission as server-sent events: its present state, then every change until its end."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from grading.main.views.view import SubmissionView
from grading.states import Status

PROGRESS: Final = "grading.progress"
REVIEW_REQUIRED: Final = "grading.review_required"
COMPLETED: Final = "grading.completed"
FAILED: Final = "grading.failed"
ENDS: Final = frozenset({COMPLETED, FAILED})
"""After these no event can follow, and the stream ends."""


class StateEvent(NamedTuple):
    """The state of a submission as an event."""

    name: str
    data: dict[str, Any]
    id: str

    @property
    def ends(self) -> bool:
        """Whether nothing follows."""
        return self.name in ENDS


def event_of(view: SubmissionView, *, root: str) -> StateEvent:
    """Return the event of a submission's state; `root` is where the API is mounted.

    Its id names that state and nothing else, so that it is good on every process.
    """
    data: dict[str, Any] = {"submissionId": view.submission_id, "status": view.status.value}
    match view.status:
        case Status.COMPLETED:
            result = view.result or {}
            data |= {
                "score": result.get("overallScore"),
                "band": result.get("band"),
                "resultUrl": f"{root}/api/submissions/{view.submission_id}",
            }
            name = COMPLETED
        case Status.FAILED:
            reason = view.failure_reason.value if view.failure_reason else None
            data |= {"reason": reason, "errorCode": reason, "message": view.last_error}
            name = FAILED
        case Status.REVIEW_REQUIRED:
            name = REVIEW_REQUIRED
        case _:
            data |= {
                "step": view.step.value if view.step else None,
                "progress": view.progress,
                "message": view.message,
            }
            name = PROGRESS
    return StateEvent(name, data, _id_of(view))


def _id_of(view: SubmissionView) -> str:
    late = "late" if view.is_late else ""
    parts = (view.attempt, view.status.value, view.progress_event_id or "", late)
    return ":".join(map(str, parts)) if not view.has_ended else f"{parts[0]}:{parts[1]}:{late}"
