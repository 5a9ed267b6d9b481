"""Python files as far as a diff holds them.

A new file is there whole. Of a changed one there are the runs of lines around each change: code
without what is before and after it, in which only what needs no more to be seen can be judged.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from criticizer.diffs import FileDiff, Hunk

_PYTHON: Final = frozenset({".py", ".pyi"})
_INDENT: Final = "    "
_WRAPPER: Final = "def wrapper():"
"""What is returned or yielded in a run of lines may be so in a function."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Code to look at, and where its lines are in the file; those the change adds are `added`."""

    path: str
    text: str
    numbers: tuple[int, ...]
    """Of each line of the text, in the file; zero for one that is ours."""
    added: frozenset[int]
    is_whole: bool

    @property
    def suffix(self) -> str:
        """How the name of the file ends."""
        return PurePosixPath(self.path).suffix.lower()


def rebuilt(files: Iterable[FileDiff]) -> Iterator[Rebuilt]:
    """Yield the Python code that a diff holds."""
    for file in files:
        if PurePosixPath(file.path).suffix.lower() not in _PYTHON or file.is_deleted:
            continue
        if file.is_new and len(file.hunks) == 1 and file.hunks[0].new_start == 1:
            yield _whole(file, file.hunks[0])
        else:
            yield from (_run(file, hunk) for hunk in file.hunks if any(True for _ in hunk.added))


def _whole(file: FileDiff, hunk: Hunk) -> Rebuilt:
    lines = [line for line, _ in hunk.new_side]
    ends = "" if hunk.lines[-1].startswith("\\") else "\n"
    return Rebuilt(
        path=file.path,
        text="\n".join(line.text for line in lines) + ends,
        numbers=tuple(line.number for line in lines),
        added=frozenset(line.number for line in lines),
        is_whole=True,
    )


def _run(file: FileDiff, hunk: Hunk) -> Rebuilt:
    lines = [line for line, _ in hunk.new_side]
    text = textwrap.dedent("".join(f"{line.text}\n" for line in lines))
    return Rebuilt(
        path=file.path,
        text=f"{_WRAPPER}\n{textwrap.indent(text, _INDENT)}{_INDENT}pass\n",
        numbers=(0, *(line.number for line in lines), 0),
        added=frozenset(line.number for line in hunk.added),
        is_whole=False,
    )
