"""What became of the jobs that a run of the demo knows: those it submitted and those it found.

Jobs are counted by reading them, so the figures are right whichever worker ran them. Failed
attempts are heard of from the worker in this process.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from holdfast import Holdfast, JobFilter, JobState, JobView

CHUNK = 1_000
KEPT = 5
WINDOW_S = 40
ACTIVE = (JobState.QUEUED, JobState.PROCESSING, JobState.WAITING)
STOPPED_SHORT = {"retried", "failed", "expired"}


class Trouble(NamedTuple):
    """An attempt that failed."""

    at: str
    article: str
    stage: str
    error_class: str
    http_status: int | None
    attempt: int
    delay_s: float | None
    """Until the next attempt; None when there is none."""


class Retrying(NamedTuple):
    """A job that waits for its next attempt."""

    article: str
    stage: str
    attempt: int
    due_in_s: float


class Ended(NamedTuple):
    """A job that completed."""

    article: str
    took_s: float
    retries: int


class Tally:
    """Follows jobs to their end."""

    def __init__(self, app: Holdfast, *, pipeline: str) -> None:
        self._app = app
        self._pipeline = pipeline
        self._open: dict[str, JobView] = {}
        self._retries: Counter[str] = Counter()
        self._completed_at_s: deque[float] = deque()
        self.submitted = 0
        self.found = 0
        self.found_running = 0
        self.retried = 0
        self.latest: str | None = None
        """The job that ended last after some trouble, else the one that ended last."""
        self._latest_had_trouble = False
        self.ended: Counter[JobState] = Counter()
        self.troubles: deque[Trouble] = deque(maxlen=KEPT)
        self.completions: deque[Ended] = deque(maxlen=KEPT)
        self.forget = app.subscribe(self._hear)

    def find_earlier(self) -> None:
        """Take over the jobs that an earlier run left behind."""
        wanted = JobFilter(states=ACTIVE, pipeline=self._pipeline)
        page = self._app.jobs(wanted, limit=CHUNK)
        while page:
            self._open.update((view.id, view) for view in page)
            page = self._app.jobs(wanted, before=page[-1].id, limit=CHUNK)
        self.found = len(self._open)
        self.found_running = self.count("processing")

    def add(self, job_id: str) -> None:
        """Follow a job that was just submitted."""
        self._open[job_id] = self._app.job(job_id)
        self.submitted += 1

    def refresh(self) -> None:
        """Read the jobs that had not ended when last looked at."""
        ids = list(self._open)
        for start in range(0, len(ids), CHUNK):
            found = self._app.store.get(ids[start : start + CHUNK])  # type: ignore[arg-type]
            now = self._app.clock.now()
            for job in found.values():
                self._note(JobView(job, now))

    def count(self, label: str) -> int:
        """Return how many jobs stand like that: due, retrying, processing, …."""
        return sum(view.label == label for view in self._open.values())

    @property
    def still_open(self) -> int:
        """How many jobs have not ended."""
        return len(self._open)

    @property
    def known(self) -> int:
        """How many jobs this run knows in all."""
        return self.found + self.submitted

    def retrying(self) -> list[Retrying]:
        """Return the jobs that wait for another attempt, the soonest first."""
        now = self._app.clock.now()
        waiting = [view for view in self._open.values() if view.label == "retrying"]
        waiting.sort(key=lambda view: view.job.run_at)
        return [
            Retrying(
                _article(view), view.job.stage, view.job.attempt, (view.job.run_at - now) / 1e6
            )
            for view in waiting
        ]

    def per_second(self) -> list[int]:
        """Return how many jobs completed in each of the last seconds, the latest last."""
        buckets = [0] * WINDOW_S
        for age_s in self._ages_s():
            buckets[WINDOW_S - 1 - int(age_s)] += 1
        return buckets

    def _ages_s(self) -> Iterator[float]:
        now_s = time.monotonic()
        while self._completed_at_s and now_s - self._completed_at_s[0] >= WINDOW_S:
            self._completed_at_s.popleft()
        return (now_s - at_s for at_s in self._completed_at_s)

    def _note(self, view: JobView) -> None:
        if view.state in ACTIVE:
            self._open[view.id] = view
            return
        del self._open[view.id]
        self.ended[view.state] += 1
        retries = self._retries.pop(view.id, 0)
        if retries or not self._latest_had_trouble:
            self.latest, self._latest_had_trouble = view.id, retries > 0
        if view.state is JobState.COMPLETE and view.job.finished_at is not None:
            took_s = (view.job.finished_at - view.job.created_at) / 1e6
            self.completions.append(Ended(_article(view), took_s, retries))
            self._completed_at_s.append(time.monotonic())

    def _hear(self, applied: Any) -> None:  # noqa: ANN401 - what subscribers are given
        """Note a failed attempt; called from the worker's thread after each commit."""
        entry, job = applied.decision.entry, applied.job
        if entry.kind not in STOPPED_SHORT or job.pipeline != self._pipeline:
            return
        delay_s = None
        if entry.kind == "retried":
            self.retried += 1
            self._retries[job.id] += 1
            delay_s = (applied.decision.change.run_at - entry.at) / 1e6
        self.troubles.append(
            Trouble(
                at=time.strftime("%H:%M:%S"),
                article=_article(JobView(job, entry.at)),
                stage=entry.stage,
                error_class=entry.error_class or "",
                http_status=entry.http_status,
                attempt=entry.attempt,
                delay_s=delay_s,
            )
        )


def _article(view: JobView) -> str:
    return str(view.payload["article"])
