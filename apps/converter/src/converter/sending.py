"""A file on its way in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class Sending(Protocol):
    """A file that somebody sends, and what it is to become."""

    @property
    def filename(self) -> str:
        """What the sender calls it."""

    @property
    def mapping(self) -> str:
        """What it is to become; known once all chunks were taken."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes as they come, once."""
