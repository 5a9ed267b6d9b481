"""What is stored with a review's jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_NAME: Final = 255
MAX_RECIPIENTS: Final = 1_000
MAX_VERSION: Final = 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A change that is to be reviewed, and who is to be told of it."""

    changelist_id: str
    review_version: int
    recipients: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody asked for under an idempotency key, word for word."""

    changelist_id: str
    review_version: int
    recipients: list[str]
    rerun: bool = False

    @property
    def review(self) -> Review:
        """The review that was asked for."""
        return Review(
            changelist_id=self.changelist_id,
            review_version=self.review_version,
            recipients=self.recipients,
        )
