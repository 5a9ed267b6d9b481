"""Lines of text: fragments that follow each other on the same height."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from converter.gateway.document import Fragment

_SHARED: Final = 0.5
"""How much of the smaller of two fragments they share, to be at the same place."""
_SPACE: Final = 0.15
"""The gap that reads as a space, in heights of the font."""


@dataclass(frozen=True, slots=True)
class Line:
    """At least one fragment, from left to right."""

    fragments: tuple[Fragment, ...]

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.fragments[0].left

    @property
    def top(self) -> float:
        """The top of its tallest fragment."""
        return min(fragment.top for fragment in self.fragments)

    @property
    def width(self) -> float:
        """From where it begins to where the last fragment ends."""
        return max(fragment.left + fragment.width for fragment in self.fragments) - self.left

    @property
    def height(self) -> float:
        """From the highest top to the lowest bottom."""
        return max(fragment.top + fragment.height for fragment in self.fragments) - self.top

    @property
    def text(self) -> str:
        """Its text with single spaces, also where only a gap says that there is one."""
        parts: list[str] = []
        end: float | None = None
        for fragment in self.fragments:
            if end is not None and fragment.left - end > _SPACE * fragment.font.size:
                parts.append(" ")
            parts.append(fragment.text)
            end = fragment.left + fragment.width
        return " ".join("".join(parts).split())


def lines_of(fragments: Iterable[Fragment]) -> Iterator[Line]:
    """Join neighbours on the same height, in the order of the engine; empty text makes no line."""
    current: list[Fragment] = []
    for fragment in fragments:
        if not fragment.text.strip():
            continue
        if current and not _are_beside(current[-1], fragment):
            yield _line(current)
            current = []
        current.append(fragment)
    if current:
        yield _line(current)


def _line(fragments: list[Fragment]) -> Line:
    return Line(tuple(sorted(fragments, key=lambda fragment: fragment.left)))


def _are_beside(one: Fragment, other: Fragment) -> bool:
    """Return whether they share their height and not their width."""
    high = _shared(one.top, one.height, other.top, other.height)
    wide = _shared(one.left, one.width, other.left, other.width)
    return high > _SHARED * min(one.height, other.height) and wide <= _SHARED * min(
        one.width, other.width
    )


def _shared(start: float, length: float, other_start: float, other_length: float) -> float:
    return min(start + length, other_start + other_length) - max(start, other_start)
