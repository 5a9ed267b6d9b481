"""Removes what is kept of a mail, of a mailbox that is erased, and of what is old enough."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from collabiq.failures.dlq import FOLDER
from collabiq.failures.errors import moment_and_mail_of
from collabiq.failures.payloads import CORRECTION, EMAIL, UPLOAD, email_id_of
from collabiq.records.dlq_entry import DLQ_FORM, is_email_id
from collabiq.refusals import EmailNotFound, Invalid, WrongState, flaw
from collabiq.rows import (
    EmailRow,
    emails_of_owner,
    emails_untouched_since,
    empty_email,
    forget_email,
    forget_mailbox,
    forget_replacement,
    get_email,
)
from collabiq.settings.config import Config
from holdfast import Holdfast, JobFilter, JobState, JobView
from holdfast.retention import Owned

LOGGER: Final = logging.getLogger("collabiq.forgetting")
KEPT_FOR: Final = timedelta(days=400)
BATCH: Final = 500
_LOGS: Final = "logs"
_ENDED: Final = frozenset({JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED})
_US: Final = 1_000_000


class Forgetting:
    """Forgets mails: their texts, extractions, payloads, dead letters, records and files.

    The row in Notion stays. What is left of a mail is its id, so that it is
    not fetched and processed again.
    """

    def __init__(self, engine: Holdfast, config: Config) -> None:
        self._engine, self._config = engine, config

    def forget(self, email_id: str, *, by: str) -> dict[str, Any]:
        """Remove what is kept of a mail here; raises `EmailNotFound` and `WrongState`."""
        if not is_email_id(email_id):
            raise Invalid([flaw("/email_id", "has to be 1 to 64 letters, digits, - and _")])
        with self._engine.transaction() as tx:
            row = get_email(tx, email_id)
        if row is None:
            raise EmailNotFound(email_id)
        jobs = list(self._jobs_of(row))
        # A row follows its job a little later; one without a job waits for its turn.
        waits = not jobs and row.status in {"pending", "processing"}
        if waits or any(job.state not in _ENDED for job in jobs):
            raise WrongState(f"{email_id} is under way; wait until it has ended, then forget it")
        files = list(self._files_of({email_id}))
        for path in files:
            path.unlink(missing_ok=True)
        removed = self._remove_jobs(jobs)
        with self._engine.transaction() as tx:
            for job in jobs:
                forget_replacement(tx, job.id)
            empty_email(tx, email_id, reason="forgotten")
        LOGGER.info(
            "a mail was forgotten",
            extra={"event": "forgotten", "email_id": email_id, "by": by, "jobs": removed},
        )
        return {
            "email_id": email_id,
            "jobs": removed,
            "files": len(files),
            "page_url": row.page_url,
        }

    def erase(self, owned: Owned, dry_run: bool) -> Mapping[str, int]:  # noqa: FBT001 - as it is called
        """Remove what the tables and folders hold of a mailbox, or count it."""
        gone: Counter[str] = Counter()
        ids = {email_id_of(job) for job in owned.jobs}
        if not owned.jobs:
            with self._engine.transaction() as tx:
                ids = set(emails_of_owner(tx, owned.owner))
        files = list(self._files_of(ids))
        gone["files"] = len(files)
        if not dry_run:
            for path in files:
                path.unlink(missing_ok=True)
        with self._engine.transaction() as tx:
            for job in owned.jobs if not dry_run else ():
                forget_replacement(tx, job.id)
            if not owned.jobs:
                gone["mails"] = len(ids)
                for email_id in ids if not dry_run else ():
                    forget_email(tx, email_id)
                if not dry_run:
                    forget_mailbox(tx, owned.owner)
        return {name: count for name, count in gone.items() if count}

    def chores(self) -> list[Callable[[], object]]:
        """Return what every worker does now and then."""
        return [self.remove_old_rows, self.remove_old_files]

    def remove_old_rows(self) -> int:
        """Remove rows of mails that nothing has happened to for as long as jobs are kept."""
        with self._engine.transaction() as tx:
            old = emails_untouched_since(tx, tx.now - KEPT_FOR, limit=BATCH)
            for email_id in old:
                forget_email(tx, email_id)
        return len(old)

    def remove_old_files(self) -> int:
        """Remove files of records and dead letters of that age; at most a batch at a time."""
        before = datetime.fromtimestamp(self._engine.clock.now() / _US, UTC) - KEPT_FOR
        removed = 0
        for path, moment, _ in self._named_files():
            if moment < before:
                path.unlink(missing_ok=True)
                removed += 1
                if removed == BATCH:
                    break
        return removed

    def _jobs_of(self, row: EmailRow) -> Iterator[JobView]:
        """Yield every job of a mail, the last runs first."""
        for pipeline in (EMAIL, UPLOAD):
            yield from self._engine.jobs(
                JobFilter(pipeline=pipeline, key=row.email_id), limit=BATCH
            )
        # The key of a correction names the one before it.
        known = ["first"]
        for before in known:
            for version in range(1, row.version + 1):
                key = f"{row.email_id}.{version}.{before}"
                for job in self._engine.jobs(JobFilter(pipeline=CORRECTION, key=key), limit=BATCH):
                    known.append(job.id)
                    yield job

    def _remove_jobs(self, jobs: list[JobView]) -> int:
        """Remove jobs that have ended; one goes after the runs that were made of it."""
        left, removed = [job.job for job in jobs], 0
        while left:
            gone = self._engine.store.erasure.remove(left).jobs
            if not gone:
                break
            removed += gone
            there = self._engine.store.get([job.id for job in left])
            left = [job for job in left if job.id in there]
        return removed

    def _files_of(self, email_ids: set[str]) -> Iterator[Path]:
        for path, _, email_id in self._named_files():
            if email_id in email_ids:
                yield path

    def _named_files(self) -> Iterator[tuple[Path, datetime, str]]:
        """Yield every file about a mail, with its moment and the mail, by its name."""
        for path in (self._config.data_dir / _LOGS).glob("*/error_*.json"):
            found = moment_and_mail_of(path)
            if found is not None:
                yield path, *found
        for path in (self._config.data_dir / FOLDER).glob("*/*.json"):
            moment = DLQ_FORM.moment_of(path.stem)
            if moment is not None:
                before_name = len(DLQ_FORM.id_of(moment, "x")) - 1
                yield path, moment, path.stem[before_name:]
