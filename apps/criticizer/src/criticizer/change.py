"""A change as it was fetched, and how it is kept between stages."""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass
from typing import Any, Final

MAX_KEPT_BYTES: Final = 900_000
"""Of a packed diff: what a stage returns has a limit, and the rest of a change needs room too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was changed: a unified diff, and what it is called.

    `url` is where people can look at it, where there is such a place. `title` is its first line.
    """

    diff: str
    title: str = ""
    url: str | None = None

    @property
    def digest(self) -> str:
        """Names the diff in logs and letters, which never hold any of it."""
        return hashlib.sha256(self.diff.encode()).hexdigest()

    @property
    def packed(self) -> str:
        """The diff in as few characters as it takes."""
        return base64.b85encode(zlib.compress(self.diff.encode(), 6)).decode()

    def to_document(self) -> dict[str, Any]:
        """Return what the stages after `fetch` get."""
        return {
            "title": self.title,
            "url": self.url,
            "sha256": self.digest,
            "size": len(self.diff.encode()),
            "packed": self.packed,
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Change:
        """Return the change that a document was made of."""
        diff = zlib.decompress(base64.b85decode(document["packed"])).decode()
        return cls(diff=diff, title=document["title"], url=document["url"])
