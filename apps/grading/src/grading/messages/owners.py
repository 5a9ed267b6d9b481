"""Whose submission a message is about, on either side."""

from __future__ import annotations

import hashlib
from typing import Final

MAX_USER_CHARACTERS: Final = 64
NOBODY: Final = "-"
"""The `userId` of submissions without an owner; the contract wants one of each."""
GRADER_PREFIX: Final = "grading:"
"""Stands before the names of owners of a grader's jobs: learners see none of those."""


def user_id_of(owner: str) -> str:
    """Return the `userId` of an owner: the name itself, or its hash where that is too long."""
    if len(owner) <= MAX_USER_CHARACTERS:
        return owner or NOBODY
    return hashlib.sha256(owner.encode()).hexdigest()


def grader_owner(user_id: str) -> str:
    """Return who owns the grader's jobs of a user, so that they can be erased with the user."""
    return f"{GRADER_PREFIX}{user_id}"
