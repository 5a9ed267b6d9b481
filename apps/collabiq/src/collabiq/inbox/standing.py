"""How mails stand, kept with their rows: jobs that failed or were sent back change that."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from collabiq.failures.payloads import EMAIL, UPLOAD
from collabiq.rows import EmailRow, Status, emails_under_way, set_status
from collabiq.tables.times import from_us
from holdfast import Holdfast, JobState
from holdfast.classify import Category

LOOK_EVERY: Final = timedelta(seconds=5)
_LIMIT: Final = 200
_MAILS: Final = frozenset({EMAIL, UPLOAD})
_ENDED: Final = frozenset({JobState.FAILED, JobState.CANCELLED})
_BEGUN: Final = frozenset({JobState.PROCESSING, JobState.WAITING})


class _Change(NamedTuple):
    email_id: str
    job_id: str
    status: Status
    reason: str | None


def settle(engine: Holdfast, *, until: datetime, limit: int) -> None:
    """Have rows that have not changed since an instant follow jobs that have begun or failed."""
    with engine.reading() as tx:
        rows = emails_under_way(tx, until=until, limit=limit)
    ids: list[Any] = [row.job_id for row in rows if row.job_id]
    jobs = {str(job.id): job for job in engine.store.get(ids).values()} if ids else {}
    for row in rows:
        job = jobs.get(row.job_id or "")
        if job is None:
            continue
        if job.state in _ENDED:
            error = engine.job(job.id).error or {}
            _set(engine, row, "failed", str(error.get("message") or job.state.value))
        elif row.status == "pending" and job.state in _BEGUN:
            _set(engine, row, "processing", None)


def _set(engine: Holdfast, row: EmailRow, status: Status, reason: str | None) -> None:
    with engine.transaction() as tx:
        set_status(tx, row.email_id, status, reason=reason, job_id=row.job_id)


class Standing:
    """Follows the jobs of mails: those that this process decides at once, others by looking."""

    def __init__(self, engine: Holdfast, *, patience_s: float) -> None:
        self._engine, self._patience = engine, timedelta(seconds=patience_s)
        self._lock = threading.Lock()
        self._changes: list[_Change] = []
        self._looked_at: datetime | None = None
        self._refused_at: datetime | None = None
        self.changed = threading.Event()
        """Set when a mail has ended, or is to be looked at."""
        self._leave = engine.subscribe(self._on_applied)

    def close(self) -> None:
        """Follow no more."""
        self._leave()

    def credentials_refused(self) -> bool:
        """Return whether a mail failed a short while ago for what only a person can mend."""
        found = self._refused_at
        return found is not None and self._now() - found < self._patience

    def keep(self) -> None:
        """Write down what has changed."""
        with self._lock:
            changes, self._changes = self._changes, []
        if changes:
            with self._engine.transaction() as tx:
                for each in changes:
                    set_status(
                        tx, each.email_id, each.status, reason=each.reason, job_id=each.job_id
                    )
        now = self._now()
        if self._looked_at is None or now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            self._look(now)

    def _look(self, now: datetime) -> None:
        settle(self._engine, until=now - LOOK_EVERY, limit=_LIMIT)

    def _on_applied(self, item: Any) -> None:  # noqa: ANN401 - of the engine
        job, decision = item.job, item.decision
        if job.pipeline not in _MAILS or job.key is None:
            return
        state = decision.change.state
        if state in _ENDED:
            failure = decision.failure
            reason = state.value if failure is None else failure.message
            self._add(_Change(job.key, job.id, "failed", reason))
            if failure is not None and failure.category is Category.CRITICAL:
                self._refused_at = self._now()
        elif state is JobState.COMPLETE:
            self._refused_at = None
            self.changed.set()
        elif job.state in _ENDED:
            self._add(_Change(job.key, job.id, "processing", None))

    def _add(self, change: _Change) -> None:
        with self._lock:
            self._changes.append(change)
        self.changed.set()

    def _now(self) -> datetime:
        return from_us(self._engine.clock.now())
