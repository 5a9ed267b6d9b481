"""Keeps a copy of a repository from falling into ever more packs: each fetch brings some."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from criticizer.processes import SaysTooMuch
from criticizer.sources.git_program import Git
from criticizer.wire import Deadline

_MARK: Final = "criticizer-packs"
_LEFT: Final = ("*.lock", "gc.pid", "objects/pack/tmp_*", "objects/pack/.tmp-*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidiness:
    """How many packs may come together, and how long it may take to make one of them."""

    max_new_packs: int = 50
    timeout_s: float = 20.0


def sweep(folder: Path) -> None:
    """Remove what programs left that were ended; nobody may be using the copy meanwhile."""
    for pattern in _LEFT:
        for left in folder.rglob(pattern):
            left.unlink(missing_ok=True)


def tidy(git: Git, folder: Path, *, terms: Tidiness, deadline: Deadline) -> None:
    """Put packs together once enough have come since this was tried last.

    It takes no longer than is left. What was not done in time is tried again after as many packs.
    """
    mark = folder / _MARK
    if _packs_in(folder) - _marked(mark) <= terms.max_new_packs:
        return
    with suppress(TimeoutError, SaysTooMuch):
        limit = Deadline(min(terms.timeout_s, deadline.left_s()))
        git.run(("gc", "--quiet"), limit)
    mark.write_text(str(_packs_in(folder)))


def _packs_in(folder: Path) -> int:
    return sum(1 for _ in folder.glob("objects/pack/*.pack"))


def _marked(mark: Path) -> int:
    try:
        return int(mark.read_text())
    except (OSError, ValueError):
        return 0
