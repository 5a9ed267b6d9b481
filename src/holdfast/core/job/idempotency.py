"""What a submission means when its key is known already."""

from __future__ import annotations

import json
from collections.abc import Collection
from enum import Enum, auto
from typing import Final


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


MAX_MEMO_LENGTH: Final = 2_000


def memo_of(payload: str, names: Collection[str]) -> str | None:
    """Return the fields of a payload that are kept with its key, as JSON; None when it has none.

    What is too long to be kept forever is left out.
    """
    document = json.loads(payload)
    if not isinstance(document, dict):
        return None
    memo = {name: document[name] for name in names if name in document}
    text = json.dumps(memo, ensure_ascii=False, separators=(",", ":"))
    return text if memo and len(text) <= MAX_MEMO_LENGTH else None


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
