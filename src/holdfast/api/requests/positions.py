"""Where a page of a list begins and ends, for lists by id and lists by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar
from uuid import UUID

from holdfast.api.requests.paging import bad_cursor, cursor_of, position_of, text_position

_HIGHEST: Final = 2**63 - 1
_Row = TypeVar("_Row")


def id_position(kind: str, cursor: str | None) -> str | None:
    """Return the id that a cursor holds, None for None, or raise the problem that it holds none."""
    text = text_position(kind, cursor)
    if text is None:
        return None
    try:
        return str(UUID(text))
    except ValueError:
        raise bad_cursor() from None


def number_position(kind: str, cursor: str | None) -> int | None:
    """Return the number that a cursor holds, None for None, or raise the problem as above."""
    position = position_of(kind, cursor)
    if position is None and cursor is None:
        return None
    if type(position) is not int or not 0 <= position <= _HIGHEST:
        raise bad_cursor()
    return position


def cut(
    rows: Sequence[_Row], *, limit: int, kind: str, position: Callable[[_Row], str | int]
) -> tuple[Sequence[_Row], str | None]:
    """Return the first `limit` rows, and the cursor of the page after them if there are more.

    `rows` are one more than the page may have, where there are as many.
    """
    if len(rows) <= limit:
        return rows, None
    page = rows[:limit]
    return page, cursor_of(kind, position(page[-1]))
