"""Erases all that is kept of one owner: counted first, cancelled on request, with a receipt."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

from holdfast.core.job.job import ACTIVE, Job, JobState
from holdfast.core.values.ids import JobId, is_marked
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.engine.arguments import asked
from holdfast.engine.jobs.changes import JobChanges
from holdfast.engine.jobs.jobs import MAX_COUNTED, Jobs
from holdfast.engine.submit.submission import checked_text
from holdfast.errors import ConflictError, UnavailableError
from holdfast.runtime.kernel.clock import Clock, sleep_s
from holdfast.store.contract import JobFilter, Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.erasure import BATCH, Erased
from holdfast.views.job import JobView

SUBJECT: Final = "owner"
"""The kind of subject under which the audit record keeps erasures; which owner, by a hash only."""
_ENDED: Final = tuple(state for state in JobState if state not in ACTIVE)
_PAUSE_S: Final = 0.05
_MAX_PAUSES: Final = 200
"""How often rows that others have locked are waited for, before it is given up."""


class Owned(NamedTuple):
    """Some of an owner's jobs, about to be erased; none when all of them are gone."""

    owner: str
    jobs: Sequence[JobView]

    def made(self, job_id: str) -> bool:
        """Return whether an id was given to a job of this owner, also when the job is gone."""
        return is_marked(JobId(job_id), self.owner)


Eraser = Callable[[Owned, bool], Mapping[str, int]]
"""Removes what is kept outside the database of an owner's jobs.

It is called with some jobs at a time, before their rows go, and once more without any, for what is
left of jobs that are gone. It returns how much of each kind went; where its second argument, a dry
run, is true, it removes nothing and returns what would go. It may be called again for the same.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What was erased of an owner, or would be: the receipt, without the owner's name."""

    owner_sha256: str
    by: str
    began_at: Instant
    ended_at: Instant
    rows: Mapping[str, int]
    """By kind, those that there were."""
    files: Mapping[str, int]
    """By kind, as systems name them."""
    unended: int
    """Jobs that had not ended."""
    unsent: int
    """Deliveries and messages that were still to be sent."""
    left: int
    """Jobs that the owner has now: after an erasure, those made meanwhile."""
    dry_run: bool

    def to_document(self) -> dict[str, Any]:
        """Return the receipt as JSON values; `sha256` is the digest of all the rest."""
        document = {
            "owner_sha256": self.owner_sha256,
            "by": self.by,
            "began_at": to_rfc3339(self.began_at),
            "ended_at": to_rfc3339(self.ended_at),
            "rows": dict(self.rows),
            "files": dict(self.files),
            "unended": self.unended,
            "unsent": self.unsent,
            "left": self.left,
            "dry_run": self.dry_run,
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return {**document, "sha256": hashlib.sha256(text.encode()).hexdigest()}


class Erasures:
    """Erases owners who ask to be forgotten."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        jobs: Jobs,
        changes: JobChanges,
        erasers: Callable[[], Sequence[Eraser]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._jobs = jobs
        self._changes = changes
        self._erasers = erasers

    def erase(
        self,
        owner: str,
        *,
        by: str,
        reason: str | None = None,
        cancel: bool = False,
        dry_run: bool = False,
        told: Callable[[int], object] = lambda _: None,
    ) -> Erasure:
        """Remove every row and file of an owner, and return the receipt.

        With `dry_run` they are counted. Raises `ConflictError` while jobs of the owner have not
        ended, or something is still to be sent, unless `cancel` ends it first. It may be broken
        off anywhere and called again. Audit entries stay, without reason and detail; the receipt
        is one of them. `told` gets the number of jobs after each batch.
        """
        who, why = asked("erase", by, reason)
        checked_text("erase", field="owner", text=owner)
        store = self._store()
        work = _Work(store, owner, erasers=self._erasers(), views=self._jobs.views)
        receipt = _Receipts(store, owner, who, clock=self._clock)
        preview = receipt.of(work.count(), dry_run=True)
        if dry_run:
            return preview
        if (preview.unended or preview.unsent) and not cancel:
            raise ConflictError(
                f"{preview.unended} jobs of this owner have not ended, and {preview.unsent} "
                "deliveries or messages are still to be sent; let them end, or have them cancelled"
            )
        receipt.record("erasure_begun", preview, why)
        if cancel:
            self._cancel_what_is_left(owner, who)
        done = receipt.of(work.remove(told), dry_run=False)
        receipt.record("erased", done, why)
        return done

    def _cancel_what_is_left(self, owner: str, by: str) -> None:
        """Cancel what has not ended; what is submitted meanwhile is left for another time."""
        chunk = self._changes.cancel_many(JobFilter(owner=owner), by=by)
        while chunk.before is not None:
            chunk = self._changes.cancel_many(JobFilter(owner=owner), by=by, before=chunk.before)


class _Sum:
    """Adds up what was found, or removed."""

    def __init__(self) -> None:
        self.rows = Erased()
        self.files: Counter[str] = Counter()
        self.unended = 0


class _Work:
    """Counts and removes what belongs to an owner."""

    def __init__(
        self,
        store: Store,
        owner: str,
        *,
        erasers: Sequence[Eraser],
        views: Callable[[Sequence[Job]], list[JobView]],
    ) -> None:
        self._store = store
        self._owner = owner
        self._erasers = erasers
        self._views = views

    def count(self) -> _Sum:
        """Return how much there is."""
        found = _Sum()
        before: JobId | None = None
        wanted = JobFilter(owner=self._owner)
        while page := self._store.find(wanted, before=before, limit=BATCH):
            # Letters are counted below, those without a job among them.
            found.rows += self._store.erasure.found(page)._replace(letters=0)
            found.unended += sum(job.state in ACTIVE for job in page)
            self._call_erasers(page, found, dry_run=True)
            before = page[-1].id
        self._finish(found, dry_run=True)
        return found

    def remove(self, told: Callable[[int], object]) -> _Sum:
        """Remove what has ended and all that belongs to it, and return how much went."""
        erased = _Sum()
        wanted = JobFilter(owner=self._owner, states=_ENDED)
        pauses = 0
        while page := self._store.find(wanted, before=None, limit=BATCH):
            # Files go first: without the job nobody would know whose they are.
            self._call_erasers(page, erased, dry_run=False)
            gone = self._store.erasure.remove(page)
            erased.rows += gone
            told(gone.jobs)
            pauses = 0 if gone.jobs else pauses + 1
            if pauses > _MAX_PAUSES:
                raise UnavailableError(
                    "rows of this owner are held by others; run the erasure again"
                )
            if pauses:
                sleep_s(_PAUSE_S)
        self._finish(erased, dry_run=False)
        return erased

    def _finish(self, found: _Sum, *, dry_run: bool) -> None:
        """See to what no job leads to."""
        rows, owner = self._store.erasure, self._owner
        for part in chain(
            rows.orphans(owner, remove=not dry_run),
            rows.lone_letters(owner, remove=not dry_run),
            rows.replays(owner, remove=not dry_run),
            rows.keys(owner, remove=not dry_run),
        ):
            found.rows += part
        self._call_erasers((), found, dry_run=dry_run)

    def _call_erasers(self, jobs: Sequence[Job], found: _Sum, *, dry_run: bool) -> None:
        views = self._views(jobs) if jobs else []
        for eraser in self._erasers:
            found.files.update(eraser(Owned(self._owner, views), dry_run))


class _Receipts:
    """Makes receipts of one erasure, and enters them into the audit record."""

    def __init__(self, store: Store, owner: str, by: str, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._hash = hashlib.sha256(owner.encode("utf-8", "replace")).hexdigest()
        self._by = by
        self._began_at = clock.now()

    def of(self, found: _Sum, *, dry_run: bool) -> Erasure:
        """Return the receipt of what was found, or removed."""
        rows = found.rows._asdict()
        unsent = rows.pop("unsent")
        return Erasure(
            owner_sha256=self._hash,
            by=self._by,
            began_at=self._began_at,
            ended_at=self._clock.now(),
            rows={name: count for name, count in rows.items() if count},
            files=dict(+found.files),
            unended=found.unended,
            unsent=unsent,
            left=self._store.count(JobFilter(owner=self._owner), at_most=MAX_COUNTED),
            dry_run=dry_run,
        )

    def record(self, action: str, receipt: Erasure, reason: str | None) -> None:
        """Enter a receipt into the audit log."""
        detail = receipt.to_document()
        now = self._clock.now()
        entry = AuditEntry(now, self._by, action, SUBJECT, self._hash, reason, detail=detail)
        self._store.audit.add(entry)
