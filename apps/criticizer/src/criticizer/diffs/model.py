"""What a unified diff is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

NO_NEWLINE = "\\"
"""Begins a note on the line before it: that the file ends there without a newline."""


class AddedLine(NamedTuple):
    """A line that a change adds: its number in the new file, and its text without an ending."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of lines around a change, each with its mark: blank, `+`, `-`, or a note's backslash.

    An unmarked empty line stands for an empty one that did not change. The counts are those of the
    lines that are there, whatever the diff said of them.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: str
    """What follows the second `@@`, its blank included."""
    lines: tuple[str, ...]

    @property
    def title(self) -> str:
        """The line that introduces the hunk."""
        old, new = (
            f"{start},{count}"
            for start, count in (
                (self.old_start, self.old_count),
                (self.new_start, self.new_count),
            )
        )
        return f"@@ -{old} +{new} @@{self.heading}"

    @property
    def new_side(self) -> Iterator[tuple[AddedLine, bool]]:
        """Yield each line of the new file that the hunk shows, and whether the change adds it."""
        number = self.new_start
        for line in self.lines:
            if line.startswith(("-", NO_NEWLINE)):
                continue
            yield AddedLine(number, line[1:].removesuffix("\r")), line.startswith("+")
            number += 1

    @property
    def added(self) -> Iterator[AddedLine]:
        """Yield the lines that the change adds."""
        return (line for line, is_added in self.new_side if is_added)

    @property
    def removed(self) -> Iterator[str]:
        """Yield the text of the lines that the change takes away."""
        return (line[1:].removesuffix("\r") for line in self.lines if line.startswith("-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What a change does to one file.

    Paths are as people read them: what cannot be printed in a name is replaced. A file that is new
    has no old path, one that is deleted no new one. `header` is everything before the first hunk.
    """

    old_path: str | None
    new_path: str | None
    header: tuple[str, ...]
    hunks: tuple[Hunk, ...] = ()
    is_binary: bool = False
    binary_bytes: int | None = None
    """How large a binary file is now, where the diff tells."""
    is_combined: bool = False
    """Whether it compares with several parents at once: its hunks are left out then."""

    @property
    def path(self) -> str:
        """The name to call the file by."""
        return self.new_path or self.old_path or ""

    @property
    def is_new(self) -> bool:
        """Whether the change makes the file."""
        return self.old_path is None and self.new_path is not None

    @property
    def is_deleted(self) -> bool:
        """Whether the change deletes the file."""
        return self.new_path is None and self.old_path is not None

    @property
    def is_renamed(self) -> bool:
        """Whether the file had another name."""
        return None not in {self.old_path, self.new_path} and self.old_path != self.new_path

    @property
    def added(self) -> Iterator[AddedLine]:
        """Yield the lines that the change adds."""
        return (line for hunk in self.hunks for line in hunk.added)

    @property
    def removed(self) -> Iterator[str]:
        """Yield the text of the lines that the change takes away."""
        return (line for hunk in self.hunks for line in hunk.removed)
