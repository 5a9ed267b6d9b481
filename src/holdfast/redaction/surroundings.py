"""Which part of a text has to be looked at again after something in it has changed."""

from __future__ import annotations

import re
from typing import Final

_NEAR: Final = 512
_SHORT: Final = 2_048
_SPACE: Final = re.compile(r"\s")


def surroundings(before: str, after: str) -> tuple[int, int]:
    """Where in `after` the part lies that may depend on what differs from `before`.

    It begins and ends at white space, so that no word is taken for two; a short text is one part.
    """
    if len(after) <= _SHORT:
        return 0, len(after)
    start = max(0, _common(before, after) - _NEAR)
    # Whatever follows the last change is equal in both, counted from their ends.
    tail = _common(before[::-1], after[::-1])
    end = min(len(after), max(len(after) - tail, start) + _NEAR)
    space = _SPACE.search(after, end)
    return after.rfind(" ", 0, start) + 1, space.start() if space else len(after)


def _common(first: str, second: str) -> int:
    """How many characters the two have in common at their beginnings."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
