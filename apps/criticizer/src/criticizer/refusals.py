"""Why a review that was asked for is not made."""

from __future__ import annotations


class VersionRefused(Exception):
    """There is a review of this change already, and this is no rerun with a higher version."""

    def __init__(self, message: str, *, requested: int, found: int, job_id: str) -> None:
        super().__init__(message)
        self.requested, self.found, self.job_id = requested, found, job_id


class ReviewMissing(Exception):
    """There is no review of that change, or none of that version."""
