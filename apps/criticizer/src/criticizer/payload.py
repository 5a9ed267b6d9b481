"""What is stored with a review's jobs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

FULL_HASH: Final = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
MAX_NAME: Final = 255
MAX_RECIPIENTS: Final = 1_000
MAX_VERSION: Final = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A change that is to be reviewed, and who is to be notified of it."""

    changelist_id: str
    review_version: int
    recipients: list[str]
    named: str = ""
    """What the change was called by who asked, where that was not its pinned id."""
    repository: str = ""

    @property
    def commits(self) -> list[str]:
        """The commits that the change is pinned to, by their hashes; none of a pull request."""
        return FULL_HASH.findall(self.changelist_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for under an idempotency key, word for word."""

    changelist_id: str
    review_version: int
    recipients: list[str]
    rerun: bool = False
    named: str = ""
    """What the change was called, where `changelist_id` was pinned since."""
    repository: str = ""

    @property
    def review(self) -> Review:
        """The review that was asked for."""
        return Review(
            changelist_id=self.changelist_id,
            review_version=self.review_version,
            recipients=self.recipients,
            named=self.named,
            repository=self.repository,
        )
