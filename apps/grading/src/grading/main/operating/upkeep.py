"""Removes what has been kept long enough, and what is kept of an owner who is erased."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, cast

from grading.audio import AudioStore
from grading.main.pipeline import SUBMISSION
from grading.messages.owners import GRADER_PREFIX, grader_owner, user_id_of
from grading.tables.times import listed, to_us
from holdfast import Holdfast
from holdfast.retention import Owned
from holdfast.transactions import Transaction

RETENTION_S: Final = 400 * 86_400.0
AUDIO_RETENTION: Final = timedelta(days=90)
ABANDONED: Final = timedelta(days=1)
"""An upload takes no longer than that."""
BATCH: Final = 500
_OF_JOBS: Final = {
    "progress": "submission_id",
    "score": "submission_id",
    "review": "submission_id",
    "request": "job_id",
    "answer": "job_id",
}
"""Tables whose rows go with a job, and the column that names it."""


class Upkeep:
    """The chores of grading, done by every worker about once a minute, a part at a time."""

    def __init__(self, app: Holdfast, files: AudioStore) -> None:
        self._app = app
        self._files = files
        self._after = dict.fromkeys(_OF_JOBS, "")

    def chores(self) -> list[Callable[[], object]]:
        """Return what is done now and then."""
        return [self.remove_rows, self.remove_recordings]

    def remove_rows(self) -> int:
        """Remove rows of jobs that are gone; the next call looks at the rows after these."""
        return sum(self._remove_of(table, column) for table, column in _OF_JOBS.items())

    def _remove_of(self, table: str, column: str) -> int:
        with self._app.reading() as db:
            rows = db.rows(
                f"select distinct {column} as id from grading.{table} where {column} > :after"  # noqa: S608 - names above
                f" order by {column} limit :batch",
                {"after": self._after[table], "batch": BATCH},
            )
        ids = [row["id"] for row in rows]
        self._after[table] = ids[-1] if len(ids) == BATCH else ""
        if not ids:
            return 0
        there = self._app.store.get(cast("Any", ids))
        gone = [each for each in ids if each not in there]
        if not gone:
            return 0
        with self._app.transaction() as tx:
            return _delete(tx, table, column, gone)

    def remove_recordings(self) -> int:
        """Remove recordings that were sent long ago, and what uploads left that broke off."""
        with self._app.transaction() as tx:
            self._files.remove_abandoned((tx.now - ABANDONED).timestamp())
            before_us = to_us(tx.now - AUDIO_RETENTION)
            rows = tx.rows(
                "select audio_id, sha256 from grading.audio where created_at_us < :before_us"
                " order by created_at_us limit :batch",
                {"before_us": before_us, "batch": BATCH},
            )
            return _remove_audio(tx, self._files, rows)


def erase(app: Holdfast, files: AudioStore, owned: Owned, *, dry_run: bool) -> Mapping[str, int]:
    """Remove what the tables and the folder of recordings hold of an owner.

    The grader's jobs of an owner are erased with them, where the grader shares the database.
    """
    ids = [job.id for job in owned.jobs]
    gone: Counter[str] = Counter()
    is_grader = owned.owner.startswith(GRADER_PREFIX)
    with app.transaction() as tx:
        for table, column in _OF_JOBS.items():
            if (column == "job_id") == is_grader:
                gone[table] += _delete(tx, table, column, ids, dry_run=dry_run)
    if owned.jobs or is_grader:
        return {name: count for name, count in gone.items() if count}
    with app.transaction() as tx:
        rows = tx.rows(
            "select audio_id, sha256 from grading.audio where owner = :owner",
            {"owner": owned.owner},
        )
        gone["audio"] += len(rows) if dry_run else _remove_audio(tx, files, rows)
        if not dry_run:
            for table in ("rate", "upload_rate"):
                tx.execute(
                    f"delete from grading.{table} where owner = :owner",  # noqa: S608 - names above
                    {"owner": owned.owner},
                )
    graded = app.erase(
        grader_owner(user_id_of(owned.owner)), by=SUBMISSION, cancel=True, dry_run=dry_run
    )
    gone["grader rows"] += sum(graded.rows.values())
    return {name: count for name, count in gone.items() if count}


def _delete(
    tx: Transaction, table: str, column: str, ids: list[str], *, dry_run: bool = False
) -> int:
    if not ids:
        return 0
    names, values = listed(ids)
    if dry_run:
        row = tx.row(
            f"select count(*) as n from grading.{table} where {column} in ({names})",  # noqa: S608 - as above
            values,
        )
        return int(row["n"]) if row else 0
    return tx.execute(f"delete from grading.{table} where {column} in ({names})", values)  # noqa: S608 - as above


def _remove_audio(tx: Transaction, files: AudioStore, rows: list[dict[str, Any]]) -> int:
    """Remove recordings; a file goes with the last row that names it."""
    for row in rows:
        tx.execute(
            "delete from grading.audio where audio_id = :audio_id", {"audio_id": row["audio_id"]}
        )
        other = tx.row(
            "select 1 as one from grading.audio where sha256 = :sha256 limit 1",
            {"sha256": row["sha256"]},
        )
        if other is None:
            files.remove(row["sha256"])
    return len(rows)
