"""Places in code as the stacks of failures name them: the same few, over and over."""

from __future__ import annotations

from types import CodeType, TracebackType
from typing import Final

from holdfast.secrecy import OF_THIS_PROCESS

MAX_LENGTH: Final = 1_000
_MAX_REMEMBERED: Final = 4_096


class _Names:
    """Names of places by line, of each code by its identity: its hash would take in all of it."""

    __slots__ = ("_kept", "by_code", "secrecy")

    def __init__(self, secrecy: object) -> None:
        self.secrecy = secrecy
        self.by_code: dict[int, dict[int, str]] = {}
        self._kept: list[CodeType] = []

    def add(self, traceback: TracebackType) -> str:
        code = traceback.tb_frame.f_code
        place = f"  {code.co_filename}:{traceback.tb_lineno}:{code.co_name}"
        shown = OF_THIS_PROCESS.safe_text(place, MAX_LENGTH)
        # First of all, so that nothing else can come to have the identity of what is named.
        self._kept.append(code)
        self.by_code.setdefault(id(code), {})[traceback.tb_lineno] = shown
        return shown

    def is_full(self) -> bool:
        return len(self._kept) > _MAX_REMEMBERED


class _Places:
    """Remembers how places are named, for as long as the same things are secret."""

    def __init__(self) -> None:
        self._names = _Names(None)

    def along(self, traceback: TracebackType | None, *, most: int) -> list[str]:
        """Return file, line and function of each place that a traceback leads through."""
        names, secrecy = self._names, OF_THIS_PROCESS.state
        if names.secrecy is not secrecy:
            names = self._names = _Names(secrecy)
        by_code = names.by_code
        places: list[str] = []
        while traceback is not None and len(places) < most:
            try:
                places.append(by_code[id(traceback.tb_frame.f_code)][traceback.tb_lineno])
            except KeyError:
                places.append(names.add(traceback))
                if names.is_full():
                    names = self._names = _Names(secrecy)
                    by_code = names.by_code
            traceback = traceback.tb_next
        return places


places_along: Final = _Places().along
