"""Removes files that have been kept long enough; what is left of a conversion then is `EXPIRED`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from converter.presentation import job_of
from converter.storage.contract import Storage
from holdfast import Holdfast
from holdfast.errors import UnknownJob
from holdfast.retention import Retention

LOGGER: Final = logging.getLogger("converter")
JOBS_OUTLIVE_FILES_S: Final = 7 * 24 * 3600.0
"""How much longer a conversion is known than its files are there: so long it says `EXPIRED`."""
BY: Final = "retention"
"""Who removed a result, in its conversion's history."""
MAX_AT_ONCE: Final = 1_000
"""How many files of a storage go in one turn; the rest goes in the next."""


def job_retention(*, keep_days: float) -> Retention:
    """Return how long the jobs of conversions are kept, whose files are kept for so many days."""
    keep_s = timedelta(days=keep_days).total_seconds() + JOBS_OUTLIVE_FILES_S
    return Retention(complete=keep_s, cancelled=keep_s)


def purge(storages: Sequence[Storage], *, before: datetime) -> dict[str, int]:
    """Remove what was written before an instant, and return how many files of each storage."""
    removed: dict[str, int] = {}
    for storage in storages:
        names = list(islice(storage.written_before(before), MAX_AT_ONCE))
        removed[storage.label] = sum(storage.remove(name) for name in names)
    return removed


def _wall_clock() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - what files are dated by


def kept_since(*, keep_days: float) -> datetime:
    """Return the instant before which nothing is kept that is kept for so many days."""
    return _wall_clock() - timedelta(days=keep_days)


def expire(app: Holdfast, results: Storage, *, before: datetime) -> int:
    """Remove XML that was written before an instant, and return how many files went.

    That it goes is in the history of its conversion first, so that no removal is missed there.
    """
    removed = 0
    for name in list(islice(results.written_before(before), MAX_AT_ONCE)):
        with suppress(UnknownJob):  # a conversion that is not known any more has no history
            app.note_result_removed(job_of(name), by=BY)
        removed += results.remove(name)
    return removed


def retention_chore(
    app: Holdfast, *, uploads: Storage, results: Storage, keep_days: float
) -> Callable[[], None]:
    """Return what workers do about old files, as a chore."""

    def chore() -> None:
        before = kept_since(keep_days=keep_days)
        removed = purge([uploads], before=before)
        removed[results.label] = expire(app, results, before=before)
        if any(removed.values()):
            LOGGER.info("removed old files", extra={"event": "files_purged", **removed})

    return chore
