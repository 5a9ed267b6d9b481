"""Job ids: UUIDs of version 7, sortable by time and not guessable.

The last 32 bits of the id of an owner's job are a mark of that owner, so that an id can be known
for theirs after its row is gone. Who does not know the owner can guess no more of it than before.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NewType

if TYPE_CHECKING:
    from holdfast.core.values.instant import Instant

JobId = NewType("JobId", str)

_TAIL = (1 << 62) - 1
_VARIANT = 0b10 << 62
_VERSION = 7 << 12
_TICKS_PER_MILLISECOND = 4096
_MARK_DIGITS: Final = 8


class IdSequence:
    """Makes ids that strictly rise within one process, also for many jobs in one microsecond."""

    def __init__(self) -> None:
        self._last_tick = 0

    def next(self, *, now: Instant, chance: int) -> JobId:
        """Return the next id; `chance` supplies 62 random bits."""
        tick = now * _TICKS_PER_MILLISECOND // 1000
        if tick <= self._last_tick:
            tick = self._last_tick + 1
        self._last_tick = tick
        return job_id_at(tick=tick, chance=chance)


def marked(job_id: JobId, owner: str) -> JobId:
    """Return the id with the mark of its owner in place of its last 32 bits."""
    return JobId(f"{job_id[:-_MARK_DIGITS]}{_mark(job_id, owner)}")


def is_marked(job_id: JobId, owner: str) -> bool:
    """Return whether an id bears the mark of an owner; by chance one in four billion does."""
    return job_id[-_MARK_DIGITS:] == _mark(job_id, owner)


def _mark(job_id: JobId, owner: str) -> str:
    text = f"{job_id[:-_MARK_DIGITS]}:{owner}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_MARK_DIGITS]


def id_before(instant: Instant) -> JobId:
    """Return an id that lies below every id made at `instant` or later."""
    return job_id_at(tick=instant * _TICKS_PER_MILLISECOND // 1000, chance=0)


def job_id_at(*, tick: int, chance: int) -> JobId:
    """Return the version 7 UUID of a tick, which is 1/4096 of a millisecond."""
    millisecond, fraction = divmod(tick, _TICKS_PER_MILLISECOND)
    head = millisecond << 16 | _VERSION | fraction
    # As bytes: to format each part takes twice as long, and an id is made for every job.
    text = (head << 64 | _VARIANT | chance & _TAIL).to_bytes(16).hex()
    return JobId(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")
