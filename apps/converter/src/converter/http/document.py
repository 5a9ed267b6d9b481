"""A conversion as pages and programs read it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from converter.codes import CODES, EXPIRED, told_of
from converter.conversions import UNDER_WAY, upload_of
from converter.kept_files import KeptFiles, is_retryable
from converter.presentation import status_of
from holdfast import JobState, JobView

_SAYS: Final = {
    JobState.QUEUED: "Waiting for its turn.",
    JobState.PROCESSING: "Being converted.",
    JobState.WAITING: "Being converted.",
    JobState.COMPLETE: "Ready.",
    JobState.CANCELLED: "Removed.",
}
_EXPIRED: Final = CODES.codes[EXPIRED].message


class Conversion(BaseModel):
    """How a file that was sent is doing."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    filename: str
    size: int
    """In bytes."""
    mapping: str
    status: str
    """`queued`, `processing`, `complete`, `failed` or `cancelled`."""
    state: str
    """The same; of one that was complete and whose files are gone `expired`, or `removed` when that
    was before their time."""
    says: str
    """The same in plain words."""
    attempt: int
    attempts: int
    """How many attempts it gets; one more after a result that could not be kept."""
    attempt_count: int
    """How many attempts were begun since it was last queued by hand."""
    last_attempt_at: datetime | None
    retry_after: datetime | None
    """Until when it waits to be tried again."""
    manual_retry_count: int
    created_at: datetime
    queued_at: datetime
    """When it was sent, or last retried by hand."""
    started_at: datetime | None
    failed_at: datetime | None
    finished_at: datetime | None
    leased_by: str | None
    """The worker that converts it; end users get a name that gives no machine away."""
    lease_expires_at: datetime | None
    error_code: str | None
    error_message: str | None
    retryable: bool
    """It failed, and not for what its sender has to correct: to try it again may help."""
    can_retry: bool
    """It is `retryable`, and its file is still there."""
    removable: bool
    """It is under way, or files of it are there: to remove it changes something."""
    result_path: str | None
    """What the XML of a complete conversion is kept as, in the storage of results."""
    download: str | None
    """Where the XML is, while there is any."""


class ConversionList(BaseModel):
    """The conversions of one owner, newest first, and how the converter is."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    items: list[Conversion]
    paused: bool
    """The gateway is not called at the moment; what waits goes on by itself."""
    mappings: list[str]
    max_bytes: int
    """How large a file may be."""


def document_of(
    view: JobView,
    kept: KeptFiles,
    *,
    fields: dict[str, Any],
    attempts: int,
    root: str,
    kept_since: datetime,
) -> Conversion:
    """Return a conversion as it stands; `root` is where the API is mounted.

    `fields` are those that every document of it has. What was finished before `kept_since` is not
    kept any more.
    """
    upload = upload_of(view)
    job = view.job
    state, says = status_of(view), _SAYS.get(view.state, "")
    has_result = kept.has_result(view)
    code = message = None
    if view.state is JobState.QUEUED and view.label == "retrying":
        says = f"Attempt {job.attempt} failed; it is tried again by itself."
    elif view.state is JobState.FAILED:
        told = told_of(view.error or {})
        code, message, says = told.code, told.message, told.message
    elif view.state is JobState.COMPLETE and not has_result:
        is_old = view.finished_at is not None and view.finished_at < kept_since
        state, says = ("expired", _EXPIRED) if is_old else ("removed", "Removed.")
    return Conversion(
        **fields,
        id=view.id,
        filename=upload.filename,
        size=upload.size,
        mapping=upload.mapping,
        state=state,
        says=says,
        attempt=job.attempt,
        attempts=max(attempts, job.attempt),
        created_at=view.created_at,
        finished_at=view.finished_at,
        error_code=code,
        error_message=message,
        retryable=is_retryable(view),
        can_retry=kept.can_retry(view),
        removable=view.state in UNDER_WAY or kept.has_any(view),
        download=f"{root}/api/jobs/{view.id}/download" if has_result else None,
    )
