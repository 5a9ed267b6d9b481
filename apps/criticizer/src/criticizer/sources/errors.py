"""Why a change cannot be had."""

from __future__ import annotations


class SourceError(Exception):
    """A change cannot be had. Its text names ids and numbers, never what a change holds."""


class ChangeMissing(SourceError):
    """There is no such change. Changes do not come to be later under an id, so this is final."""


class ChangeTooLarge(SourceError):
    """The change is larger than may be reviewed."""


class BadChangeId(SourceError):
    """The id cannot be one of this source's."""


class NotADiff(SourceError):
    """What came back for the id is no unified diff."""


class SourceUnusable(SourceError):
    """The source cannot be used as it is configured: its place, or its credentials, are wrong."""


class SourceFailed(SourceError):
    """The source could not tell; it may another time."""


class SourceTimedOut(SourceFailed):
    """The source did not tell in time."""
