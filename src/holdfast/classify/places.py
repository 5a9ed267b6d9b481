"""Places in code as the stacks of failures name them: the same few, over and over."""

from __future__ import annotations

from types import CodeType, TracebackType
from typing import Final, TypeAlias

from holdfast.secrecy import OF_THIS_PROCESS

MAX_LENGTH: Final = 1_000
_MAX_REMEMBERED: Final = 4_096

_Names: TypeAlias = dict[tuple[int, int], tuple[CodeType, str]]
"""By identity, because the hash of code takes in all of it; what is kept here stays no other."""


class _Places:
    """Remembers how places are named, for as long as the same things are secret."""

    def __init__(self) -> None:
        self._valid: tuple[object, _Names] = (None, {})

    def along(self, traceback: TracebackType | None, *, most: int) -> list[str]:
        """Return file, line and function of each place that a traceback leads through."""
        names = self._names()
        places: list[str] = []
        for _ in range(most):
            if traceback is None:
                break
            code, line = traceback.tb_frame.f_code, traceback.tb_lineno
            known = names.get((id(code), line))
            places.append(known[1] if known is not None else _add(names, code, line))
            traceback = traceback.tb_next
        return places

    def _names(self) -> _Names:
        secrecy = OF_THIS_PROCESS.state
        valid_for, names = self._valid
        if valid_for is not secrecy or len(names) > _MAX_REMEMBERED:
            names = {}
            self._valid = (secrecy, names)
        return names


def _add(names: _Names, code: CodeType, line: int) -> str:
    shown = OF_THIS_PROCESS.safe_text(f"  {code.co_filename}:{line}:{code.co_name}", MAX_LENGTH)
    names[id(code), line] = (code, shown)
    return shown


places_along: Final = _Places().along
