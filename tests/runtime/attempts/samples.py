"""Attempts for lanes, and a place where lanes report them."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast import Pipeline
from holdfast.core.job.event import Event
from holdfast.core.job.job import JobState, WorkerId
from holdfast.core.job.lease import claimed
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.runtime.attempts.attempt import Attempt
from holdfast.runtime.attempts.outcome import event_of
from holdfast.runtime.kernel.stage import BoundStage
from holdfast.testing.clock import START
from tests.core.job.lifecycle_table import a_job

PATIENCE_S = 20.0


def attempt_of(handler: Callable[..., Any], *, deadline_at: Instant | None = None, **options: Any):
    """An attempt of a stage made of a handler, with its stage's options."""
    pipeline = Pipeline("p")
    pipeline.stage(name="one", **options)(handler)
    return attempt_of_stage(pipeline.bound().stages[0], pipeline, deadline_at=deadline_at)


def attempt_of_stage(
    stage: BoundStage,
    pipeline: Pipeline,
    *,
    payload: str = "{}",
    deadline_at: Instant | None = None,
    checkpoints: dict[str, str] | None = None,
) -> Attempt:
    queued = a_job(JobState.QUEUED)._replace(
        id=JobId("0190"), pipeline=pipeline.name, stage=stage.name, attempt=0, token=0,
        payload=payload, deadline_at=deadline_at,
    )  # fmt: skip
    job = claimed(queued, holder=WorkerId("w"), lease_us=30_000_000, now=START)
    return Attempt(job, plan=pipeline.bound().plan, bound=stage, checkpoints=checkpoints or {})


class Reported(NamedTuple):
    attempt: Attempt
    value: Any
    error: BaseException | None

    @property
    def event(self) -> Event | None:
        return event_of(self.attempt, self.value, self.error, now=START)


class Desk:
    """Takes reports from any thread and lets the test wait for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.reported: list[Reported] = []
        self.late: list[tuple[Attempt, Any]] = []

    def report(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:
        with self._changed:
            self.reported.append(Reported(attempt, value, error))
            self._changed.notify_all()

    def report_late(self, attempt: Attempt, value: Any) -> None:
        with self._changed:
            self.late.append((attempt, value))
            self._changed.notify_all()

    def wait_for(self, count: int) -> list[Reported]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.reported) >= count, PATIENCE_S)
            return list(self.reported)

    def wait_for_late(self) -> tuple[Attempt, Any]:
        with self._changed:
            assert self._changed.wait_for(lambda: bool(self.late), PATIENCE_S)
            return self.late[0]
