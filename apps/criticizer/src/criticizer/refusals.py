"""Why a review that was asked for is not made."""

from __future__ import annotations


class VersionRefused(Exception):
    """There is a review of this change already, and this is no rerun with a higher version."""

    def __init__(self, message: str, *, requested: int, found: int, job_id: str) -> None:
        super().__init__(message)
        self.requested, self.found, self.job_id = requested, found, job_id


class ChangeRefused(Exception):
    """There is no such change, or its id cannot be one; it says so in its own words."""


class SourceAway(Exception):
    """Which commits a name stands for cannot be found out at the moment."""

    def __init__(self, error_class: str) -> None:
        self.error_class = error_class
        super().__init__(
            f"the repository cannot be asked which commits this is ({error_class}); try again "
            "later, or name the commits by their whole hashes"
        )


class ReviewMissing(Exception):
    """There is no review of that change, or none of that version."""
