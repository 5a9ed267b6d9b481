"""Why a review could not be made, apart from what SDKs raise."""

from __future__ import annotations


class ReviewerError(Exception):
    """A review could not be made. Its text holds nothing of prompts, diffs or answers."""


class MalformedAnswer(ReviewerError):
    """A model answered something other than the JSON that was asked for; it may do better."""


class Refused(ReviewerError):
    """A model will not review this change; asking again does not help."""


class ReviewerFailed(ReviewerError):
    """A reviewer's own program failed; it may do better another time."""
