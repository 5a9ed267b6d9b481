"""What a submission means when its key is known already."""

from __future__ import annotations

from enum import Enum, auto


class Verdict(Enum):
    """How a submission stands against a stored job of its key."""

    SAME = auto()
    """The stored job is the answer."""
    OTHER_BODY = auto()
    """The key belongs to a job with another body."""
    NEEDS_RERUN = auto()
    """The version is higher than any stored: only an explicit rerun makes a new job."""
    TOO_LOW = auto()
    """The version is lower than a stored one and is no stored job's."""


def judge(
    *,
    version: int,
    fingerprint: str | None,
    stored: dict[int, str | None],
    key_alone_decides: bool,
) -> Verdict:
    """Compare a submission with the versions stored under its key and their fingerprints."""
    if version in stored:
        same = key_alone_decides or stored[version] == fingerprint
        return Verdict.SAME if same else Verdict.OTHER_BODY
    return Verdict.NEEDS_RERUN if version > max(stored) else Verdict.TOO_LOW
