"""How many jobs match: as far as they are counted, and for as long as a page can wait for it."""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast.console.words import plural
from holdfast.engine.app import Holdfast
from holdfast.errors import ReadTooSlow
from holdfast.store.contract import JobFilter
from holdfast.store.statements.statement_timeout import reads_within

MAX_COUNTED: Final = 10_000
PATIENCE_S: Final = 1.0


class Counted(NamedTuple):
    """So many jobs match for certain, and perhaps more."""

    jobs: int
    more: bool = False

    def __str__(self) -> str:
        if not self.more:
            return plural(self.jobs, "job")
        return f"{plural(self.jobs, 'job')} or more" if self.jobs else "Very many jobs"


def counted(engine: Holdfast, wanted: JobFilter, *, seen: int = 0) -> Counted:
    """Count the jobs that match; `seen` of them are known to be there."""
    try:
        with reads_within(PATIENCE_S):
            found = engine.count(wanted, at_most=MAX_COUNTED)
    except ReadTooSlow:
        return Counted(seen, more=True)
    return Counted(found, more=found >= MAX_COUNTED)
