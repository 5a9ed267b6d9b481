"""A file on its way in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Protocol

NORMAL: Final = "normal"
HIGH: Final = "high"
PRIORITIES: Final[Mapping[str, int]] = MappingProxyType({HIGH: 0, NORMAL: 1, "low": 2})
"""What a sender may ask for, and the engine's priority for it."""


class HighPriority(StrEnum):
    """Who may send files with high priority."""

    OPERATORS = "operators"
    TOKENS = "tokens"
    """All that come with credentials."""
    EVERYONE = "everyone"

    def allows(self, *, walks_in: bool, is_operator: bool) -> bool:
        """Return whether a sender with or without credentials may, or an operator."""
        if self is HighPriority.EVERYONE:
            return True
        return not walks_in and (is_operator or self is HighPriority.TOKENS)


class Sending(Protocol):
    """A file that is sent, and what it is to become.

    All but its name is known for certain once all chunks were taken.
    """

    @property
    def filename(self) -> str:
        """What the sender calls it."""

    @property
    def mapping(self) -> str:
        """What it is to become."""

    @property
    def callback_url(self) -> str:
        """Where a webhook goes to when the conversion has ended; empty for nowhere."""

    @property
    def priority(self) -> str:
        """One of `PRIORITIES`, or empty."""

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes as they come, once."""
