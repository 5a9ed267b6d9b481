"""How long a statement may take, where the caller sets it.

A page that a person looks at is worth a few seconds of the database, and no more; a worker's own
statements are bounded by the store.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_LONGEST_S: Final[ContextVar[float | None]] = ContextVar("holdfast_longest_read_s", default=None)


@contextmanager
def reads_within(seconds: float | None) -> Iterator[None]:
    """Break off what is read inside the block with `ReadTooSlow` after so many seconds.

    None is for no other limit than the store's own.
    """
    token = _LONGEST_S.set(seconds)
    try:
        yield
    finally:
        _LONGEST_S.reset(token)


def longest_read_s() -> float | None:
    """Return how long a statement may take here, or None where nobody said."""
    return _LONGEST_S.get()
