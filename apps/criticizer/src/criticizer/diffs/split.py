"""Splits a diff into parts that are diffs themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from criticizer.diffs.model import NO_NEWLINE, FileDiff, Hunk

MIN_PART_BYTES: Final = 4_096
_LONGEST_TITLE: Final = 120
"""Of a hunk: numbers, marks, and as much of its heading as is kept."""
_KEPT_HEADING: Final = 60
_CUT: Final = " …"


class Part(NamedTuple):
    """A part of a diff, and the files it is about."""

    text: str
    files: tuple[FileDiff, ...]
    """With the hunks that are in this part."""

    @property
    def paths(self) -> frozenset[str]:
        """What the files are and were called."""
        names = (name for file in self.files for name in (file.old_path, file.new_path))
        return frozenset(name for name in names if name)


def split_diff(files: Iterable[FileDiff], *, max_bytes: int) -> list[Part]:
    """Return parts of at most so many bytes each, in order.

    A file that fits into one part is not torn apart; one that does not is split between hunks, and
    a hunk that does not fit between lines. A line longer than a part is cut, and a file whose name
    alone fills half of a part is left out.
    """
    limit = max(max_bytes, MIN_PART_BYTES)
    packing = _Packing(limit)
    for file in files:
        for piece in _pieces(file, limit):
            packing.add(piece)
    return packing.finished()


class _Packing:
    """Fills one part after the other."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._parts: list[Part] = []
        self._files: list[FileDiff] = []

    def add(self, file: FileDiff) -> None:
        size = _size_of(file)
        if self._files and self._size + size > self._limit:
            self._close()
        self._files.append(file)
        self._size += size

    def finished(self) -> list[Part]:
        self._close()
        return self._parts

    def _close(self) -> None:
        if self._files:
            text = "".join(f"{line}\n" for file in self._files for line in _lines_of(file))
            self._parts.append(Part(text, tuple(self._files)))
        self._files, self._size = [], 0


def _pieces(file: FileDiff, limit: int) -> Iterator[FileDiff]:
    """Yield the file, or the file with some of its hunks after the other."""
    if _size_of(file) <= limit:
        yield file
        return
    room = limit - sum(map(_line_size, file.header))
    if room < limit // 2:
        return
    taken: list[Hunk] = []
    size = 0
    for hunk in _hunks_within(file.hunks, room):
        hunk_size = _hunk_size(hunk)
        if taken and size + hunk_size > room:
            yield _with_hunks(file, taken)
            taken, size = [], 0
        taken.append(hunk)
        size += hunk_size
    if taken:
        yield _with_hunks(file, taken)


def _with_hunks(file: FileDiff, hunks: Sequence[Hunk]) -> FileDiff:
    return FileDiff(
        old_path=file.old_path, new_path=file.new_path, header=file.header, hunks=tuple(hunks)
    )


def _hunks_within(hunks: Iterable[Hunk], room: int) -> Iterator[Hunk]:
    for hunk in hunks:
        if _hunk_size(hunk) <= room:
            yield hunk
        else:
            yield from _split_hunk(hunk, room)


def _split_hunk(hunk: Hunk, room: int) -> Iterator[Hunk]:
    room -= _LONGEST_TITLE + len(_CUT.encode())
    heading = hunk.heading.encode("utf-8", "replace")[:_KEPT_HEADING].decode(errors="ignore")
    old, new = _first_lines(hunk)
    taken: list[str] = []
    size = 0
    for group in _groups(hunk.lines, room):
        group_size = sum(map(_line_size, group))
        if taken and size + group_size > room:
            made = _hunk_of(taken, old=old, new=new, heading=heading)
            old, new = old + made.old_count, new + made.new_count
            yield made
            taken, size = [], 0
        taken += group
        size += group_size
    if taken:
        yield _hunk_of(taken, old=old, new=new, heading=heading)


def _first_lines(hunk: Hunk) -> tuple[int, int]:
    """Which lines come first; where there are none, a hunk names the line before instead."""
    return hunk.old_start + (not hunk.old_count), hunk.new_start + (not hunk.new_count)


def _groups(lines: Sequence[str], room: int) -> Iterator[list[str]]:
    """Yield each line with the note that belongs to it, cut where it would fill a part alone."""
    most_bytes = room // 2 - _line_size(_CUT)
    group: list[str] = []
    for line in lines:
        if not line.startswith(NO_NEWLINE):
            if group:
                yield group
            group = []
        elif len(group) != 1:
            # A note on a note, or on nothing.
            continue
        group.append(_cut(line, most_bytes))
    if group:
        yield group


def _cut(line: str, most_bytes: int) -> str:
    # A letter has four bytes at most, so that most lines need not be encoded to be measured.
    if len(line) * 4 <= most_bytes:
        return line
    encoded = line.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return line
    return encoded[:most_bytes].decode(errors="ignore") + _CUT


def _hunk_of(lines: Sequence[str], *, old: int, new: int, heading: str) -> Hunk:
    marks = [line[:1] for line in lines]
    added, removed, notes = (marks.count(mark) for mark in ("+", "-", NO_NEWLINE))
    kept = len(lines) - added - removed - notes
    old_count, new_count = kept + removed, kept + added
    return Hunk(
        old - (not old_count), old_count, new - (not new_count), new_count, heading, tuple(lines)
    )


def _lines_of(file: FileDiff) -> Iterator[str]:
    yield from file.header
    for hunk in file.hunks:
        yield hunk.title
        yield from hunk.lines


def _size_of(file: FileDiff) -> int:
    return sum(map(_line_size, file.header)) + sum(map(_hunk_size, file.hunks))


def _hunk_size(hunk: Hunk) -> int:
    return _line_size(hunk.title) + sum(map(_line_size, hunk.lines))


def _line_size(line: str) -> int:
    return (len(line) if line.isascii() else len(line.encode("utf-8", "replace"))) + 1
