"""What of an application's dead letters stands in their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from holdfast.engine.app import Holdfast
from holdfast.letter_files.entry import Described, described
from holdfast.views.dead_letter import LetterView


class LetterContent(Protocol):
    """What of an application's letters stands in the files, and how a changed payload is kept."""

    def describe(self, view: LetterView) -> Described | None:
        """Return what the file of a letter with a job says; None for one that has no place."""
        ...

    def checked(self, operation_type: str, payload: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a payload that a person gave, or raise `UsageError` with what is wrong."""
        ...

    def replace(self, job_id: str, payload: Any, *, by: str) -> None:  # noqa: ANN401 - JSON
        """Have the next replay of a failed job send this payload, which was checked."""
        ...


class JobPayloads:
    """The payloads of jobs themselves: what stands in the files unless a program has its own."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app

    def describe(self, view: LetterView) -> Described | None:
        """Return the job's key, the stage and the payload."""
        return None if view.job is None else described(view.letter, view.job)

    def checked(self, operation_type: str, payload: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return it as it is: the job's pipeline checks it when it is kept."""
        del operation_type
        return payload

    def replace(self, job_id: str, payload: Any, *, by: str) -> None:  # noqa: ANN401 - JSON
        """Give the failed job this payload."""
        self._app.correct_payload(job_id, payload, by=by, reason="its file was changed")
