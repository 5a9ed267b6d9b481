"""A sentence, and the command that does what it says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Sentence(NamedTuple):
    """A sentence that reads alone, and what does it on the command line."""

    text: str
    command: str | None = None
    """None for a sentence that states a fact."""

    @property
    def with_command(self) -> str:
        """The sentence as a command prints it."""
        return self.text if self.command is None else f"{self.text.rstrip('.')}: {self.command}"


def facts(sentences: Iterable[Sentence]) -> list[str]:
    """Return what states a fact, for pages: they offer the rest as buttons and links."""
    return [each.text for each in sentences if each.command is None]


def number(count: int, noun: str, plural: str | None = None) -> str:
    """Return how many there are of something."""
    return f"1 {noun}" if count == 1 else f"{count} {plural or noun + 's'}"
