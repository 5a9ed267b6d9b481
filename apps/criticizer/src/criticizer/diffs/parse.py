"""Reads a unified diff of any author: what cannot be read of it is left out, never raised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from criticizer.diffs.model import NO_NEWLINE, FileDiff, Hunk
from criticizer.diffs.names import Names, name_in, names_in_title, shown, without_prefixes

_HUNK: Final = re.compile(
    r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+([0-9]{1,9})(?:,([0-9]{1,9}))? @@(.*)", re.DOTALL
)
_COMBINED: Final = ("diff --cc ", "diff --combined ")
_TITLE: Final = "diff --git "
_BEGIN_SOMETHING: Final = frozenset("d-@")
_KEPT_IN_HEADER: Final = (
    _TITLE,
    *_COMBINED,
    "Binary files ",
    "copy ",
    "deleted file mode ",
    "dissimilarity index ",
    "index ",
    "new file mode ",
    "new mode ",
    "old mode ",
    "rename ",
    "similarity index ",
)
_BINARY_SIZE: Final = re.compile(r"(?:literal|delta) ([0-9]{1,15})")


def parse_diff(text: str) -> list[FileDiff]:
    """Return the files of a diff in its order; an empty list for what is no diff.

    Lines end with a newline and with nothing else, so that whatever a file holds stays on its line.
    """
    reading = _Reading(text.split("\n"))
    reading.run()
    return reading.finished()


class _Reading:
    """Where the reader is, and what it has read of the file it is in."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines, self.at = lines, 0
        self._files: list[FileDiff] = []
        self._file: _File | None = None

    def run(self) -> None:
        """Take all lines."""
        while self.at < len(self.lines):
            # Most of what is between files says nothing.
            if self.lines[self.at][:1] in _BEGIN_SOMETHING or self._is_in_header():
                self.step()
            else:
                self.at += 1

    def finished(self) -> list[FileDiff]:
        self._begin(None)
        return self._files

    def _is_in_header(self) -> bool:
        return self._file is not None and not self._file.hunks

    def step(self) -> None:
        """Take the next line, and with it the lines that only make sense together."""
        line = self.lines[self.at]
        if line.startswith(_TITLE):
            self._begin(_File(title=line.removesuffix("\r").removeprefix(_TITLE)))
        elif line.startswith(_COMBINED):
            self._begin(_File(combined=line.removesuffix("\r").split(" ", 2)[2]))
        elif line.startswith("--- ") and self._next().startswith("+++ "):
            self._take_names()
            return
        elif line.startswith("@@ -") and self._file is not None:
            self._take_hunk()
            return
        elif self._file is not None:
            self._file.note(line.removesuffix("\r"))
        if self._file is not None and not self._file.hunks and line.startswith(_KEPT_IN_HEADER):
            self._file.header.append(line)
        self.at += 1

    def _next(self) -> str:
        return self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""

    def _begin(self, file: _File | None) -> None:
        if self._file is not None:
            self._files.append(self._file.finished())
        self._file = file

    def _take_names(self) -> None:
        if self._file is None or self._file.is_named:
            self._begin(_File())
        file = self._file
        assert file is not None  # noqa: S101 - begun in the line before, if it was not there
        both = self.lines[self.at : self.at + 2]
        file.old, file.new = (name_in(line.removesuffix("\r")[4:]) for line in both)
        file.is_named = True
        file.header.extend(both)
        self.at += 2

    def _take_hunk(self) -> None:
        found = _HUNK.fullmatch(self.lines[self.at].removesuffix("\r"))
        file = self._file
        self.at += 1
        if found is None or file is None or file.combined is not None:
            return
        old_start, old_left, new_start, new_left = (
            1 if number is None else int(number) for number in found.groups()[:4]
        )
        first, old_count, new_count = self.at, old_left, new_left
        while self.at < len(self.lines):
            mark = self.lines[self.at][:1]
            if mark == NO_NEWLINE:
                self.at += 1
                continue
            takes_old, takes_new = mark in {" ", "-", "", "\r"}, mark in {" ", "+", "", "\r"}
            if takes_old > old_left or takes_new > new_left or not (takes_old or takes_new):
                break
            if not mark and self.at == len(self.lines) - 1:
                # What follows the last newline of the diff is no line.
                break
            old_left, new_left = old_left - takes_old, new_left - takes_new
            self.at += 1
        taken = tuple(self.lines[first : self.at])
        file.hunks.append(
            Hunk(old_start, old_count - old_left, new_start, new_count - new_left, found[5], taken)
        )


class _File:
    """What is known of a file until the next one begins."""

    def __init__(self, *, title: str = "", combined: str | None = None) -> None:
        self.title, self.combined = title, combined
        self.header: list[str] = []
        self.hunks: list[Hunk] = []
        self.old: str | None = None
        self.new: str | None = None
        self.is_named = False
        self._renamed: dict[str, str | None] = {}
        self._is_new = self._is_deleted = self._is_binary = False
        self._binary_bytes: int | None = None

    def note(self, line: str) -> None:
        """Take what a line between title and hunks says."""
        if self.hunks:
            return
        if line.startswith("new file mode"):
            self._is_new = True
        elif line.startswith("deleted file mode"):
            self._is_deleted = True
        elif line.startswith(("rename from ", "copy from ")):
            self._renamed["old"] = name_in(line.partition(" from ")[2])
        elif line.startswith(("rename to ", "copy to ")):
            self._renamed["new"] = name_in(line.partition(" to ")[2])
        elif line == "GIT binary patch" or line.startswith("Binary files "):
            self._is_binary = True
        elif self._is_binary and self._binary_bytes is None:
            size = _BINARY_SIZE.fullmatch(line)
            self._binary_bytes = int(size[1]) if size else None

    def finished(self) -> FileDiff:
        old, new = self._names()
        if self._is_binary and not any(line.startswith("Binary") for line in self.header):
            # Instead of what the file holds, which nobody can read.
            self.header.append(f"Binary files {old or '/dev/null'} and {new or '/dev/null'} differ")
        return FileDiff(
            old_path=old,
            new_path=new,
            header=tuple(self.header),
            hunks=tuple(self.hunks),
            is_binary=self._is_binary,
            binary_bytes=self._binary_bytes,
            is_combined=self.combined is not None,
        )

    def _names(self) -> Names:
        if self.combined is not None:
            name = shown(name_in(self.combined))
            return Names(name, name)
        if len(self._renamed) == 2:  # noqa: PLR2004 - from and to
            return Names(shown(self._renamed["old"]), shown(self._renamed["new"]))
        if self.is_named:
            return without_prefixes(self.old, self.new)
        old, new = names_in_title(self.title)
        return Names(None if self._is_new else old, None if self._is_deleted else new)
