"""What has been committed since the last look, in all jobs.

Times and ids are given before a commit, and commits come in another order. So a look is set off
from the next by what could be seen: a snapshot on PostgreSQL, numbers given under the one lock for
writing on SQLite. What was committed between two marks is returned exactly once, however late.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Any, Final, NamedTuple

from holdfast.core.values.ids import JobId, id_before
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.store.contract import LedgerEntry
from holdfast.store.rows import ledger_entry_from_row
from holdfast.store.statements.sql import Sql
from holdfast.store.tables.audit import AuditEntry

LATE_US: Final = 15 * SECOND_US
"""How long before it is handed to the database a job may have been given its id."""
STRANGE_US: Final = 24 * 3600 * SECOND_US
"""An entry so much older than the mark before it is not new: its number is another server's."""
SKEW_US: Final = 2 * SECOND_US
"""How far the clocks of those who make ids may be apart."""
AUDIT_SLACK: Final = 1000
_BEGUN_AT_MOST: Final = 5000
_NO_ID: Final = JobId("00000000-0000-0000-0000-000000000000")
_SNAPSHOT: Final = re.compile(r"(\d{1,19}):(\d{1,19}):((?:\d{1,19}(?:,\d{1,19})*)?)", re.ASCII)


class Mark(NamedTuple):
    """What could be seen at one instant; what its numbers mean is the database's own."""

    snapshot: str
    entries: int
    jobs: int
    audit: int
    at: Instant
    """When that was, at the latest."""
    low: Instant
    """No job made before this was still to be committed."""

    @property
    def is_sound(self) -> bool:
        """Whether a database could have said this; texts from outside may say anything."""
        numbers = (self.entries, self.jobs, self.audit, self.at, self.low)
        if any(not 0 <= number < 1 << 63 for number in numbers):
            return False
        if not self.snapshot:
            return True
        found = _SNAPSHOT.fullmatch(self.snapshot)
        if found is None:
            return False
        first, end = int(found[1]), int(found[2])
        running = [int(number) for number in found[3].split(",")] if found[3] else []
        inside = all(first <= number < end for number in running)
        rising = all(a < b for a, b in pairwise(running))
        return 0 < first <= end and inside and rising and (self.entries, self.jobs) == (first, end)


class Whose(NamedTuple):
    """Where a job belongs."""

    pipeline: str
    queue: str
    owner: str


class NewlySeen(NamedTuple):
    """A job that was not there before; stage and revision are those it has now."""

    job_id: JobId
    whose: Whose
    created_at: Instant
    stage: str
    revision: int


class Entered(NamedTuple):
    """An entry of the ledger and the number behind which the next ones are found."""

    number: int
    line: LedgerEntry


class Begun(NamedTuple):
    """An attempt that is under way."""

    job_id: JobId
    whose: Whose
    stage: str
    attempt: int
    holder: str
    at: Instant
    revision: int


class TailRows:
    """Reads what became visible between two marks."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def mark(self, now: Callable[[], Instant]) -> Mark:
        """Return a mark of what can be seen now."""
        oldest = now()
        # First: a transaction that ends in between must not be forgotten.
        ((writing_since,),) = self._sql.rows("tail_writers", {})
        ((snapshot, entries, jobs, audit),) = self._sql.rows("tail_mark", {})
        if writing_since is not None:
            oldest = min(oldest, writing_since)
        return Mark(snapshot, entries, jobs, audit, now(), Instant(max(oldest - LATE_US, 0)))

    def jobs(self, since: Mark, until: Mark, *, after: JobId | None, limit: int) -> list[NewlySeen]:
        """Return jobs that were stored between the marks, by id, from those above `after`."""
        values = {
            **_between(since, until),
            "oldest_id": id_before(since.low),
            "surely_new_id": id_before(later(since.at, SKEW_US)),
            "after_id": after or _NO_ID,
            "limit": limit,
        }
        return [
            NewlySeen(job_id, Whose(pipeline, queue, owner), created_at, stage, revision)
            for job_id, pipeline, queue, owner, created_at, stage, revision in self._sql.rows(
                "tail_jobs", values
            )
        ]

    def entries(
        self, since: Mark, until: Mark, *, after: tuple[int, JobId, int] | None, limit: int
    ) -> list[Entered]:
        """Return entries that were made between the marks, from those behind `after`."""
        number, job_id, revision = after or (0, _NO_ID, 0)
        values = {
            **_between(since, until),
            "oldest_at": max(since.at - STRANGE_US, 0),
            "after_number": number,
            "after_id": job_id,
            "after_revision": revision,
            "limit": limit,
        }
        return [
            Entered(row[0], ledger_entry_from_row(row[1], row[2:]))
            for row in self._sql.rows("tail_entries", values)
        ]

    def begun(self, *, since: Instant) -> list[Begun]:
        """Return attempts under way that began at `since` or later."""
        rows = self._sql.rows("tail_begun", {"begun_since": since, "limit": _BEGUN_AT_MOST})
        return [Begun(row[0], Whose._make(row[1:4]), *row[4:]) for row in rows]

    def actions(self, since: Mark, until: Mark, *, limit: int) -> list[AuditEntry]:
        """Return what happened between the marks to breakers and queues."""
        values = {**_between(since, until), "slack": AUDIT_SLACK, "limit": limit}
        return [
            AuditEntry._make((*facts, None if detail is None else json.loads(detail), None))
            for *facts, detail in self._sql.rows("tail_actions", values)
        ]

    def whose(self, job_ids: Collection[JobId]) -> dict[JobId, Whose]:
        """Return where the jobs of those ids belong that are still there."""
        if not job_ids:
            return {}
        rows = self._sql.rows("tail_whose", {"ids": json.dumps(list(job_ids))})
        return {job_id: Whose._make(rest) for job_id, *rest in rows}


def _between(since: Mark, until: Mark) -> dict[str, Any]:
    return {
        **{f"since_{name}": value for name, value in since._asdict().items()},
        **{f"until_{name}": value for name, value in until._asdict().items()},
    }
