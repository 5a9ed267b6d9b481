"""People and programs that cancel, pause and submit while workers are at it."""

import json
import signal
import subprocess
import sys

import pytest

from holdfast import JobState
from holdfast.core.job.decision import Kind
from tests.crash import submitting
from tests.crash.fleet import REPOSITORY, Fleet, environment_of, eventually
from tests.crash.sampling import on_both_databases
from tests.crash.verdict import assert_steps_done
from tests.warm.process import WarmProcess


@pytest.mark.parametrize(
    ("database_url", "point", "pause", "came_late"),
    on_both_databases(
        [
            ("claim.after", 30.0, False),
            ("run.before", 30.0, False),
            ("run.after", 0.05, True),
            ("apply.before", 0.05, True),
            ("apply.after", 0.05, None),
        ],
        quick_on_sqlite={"run.after"},
    ),
    indirect=["database_url"],
)
def test_a_job_cancelled_at_any_point_stays_cancelled(
    fleet: Fleet, point: str, pause: float, *, came_late: bool | None
) -> None:
    worker, [job] = fleet.stopped_with(
        lambda: fleet.submit("steps", pause=pause), f"{point}=stop", lease=2.0, only="steps,noop"
    )
    cancelled = fleet.app.cancel(job, by="test")
    assert cancelled.state is JobState.CANCELLED
    worker.signal(signal.SIGCONT)

    fleet.finished(fleet.submit("noop", 3))
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    after = fleet.app.job(job)
    assert (after.state, after.result) == (JobState.CANCELLED, None)
    assert after.job.finished_at == cancelled.job.finished_at
    kinds = [line.entry.kind for line in fleet.app.store.ledger(job)]
    assert kinds.count(Kind.CANCELLED) == 1
    # What was done all the same is on record; a handler that was stopped has done nothing.
    assert came_late in (None, Kind.LATE in kinds)
    assert {run.stage for run in fleet.executions(job)} <= {"one", "two"}
    fleet.sound()


def test_a_paused_queue_lets_running_jobs_finish_and_starts_no_other(fleet: Fleet) -> None:
    worker = fleet.start(only="steps,noop")
    running = fleet.submit("steps", 2, pause=0.3)
    eventually(lambda: len(fleet.executions()) >= 2, what="they run")
    assert fleet.app.pause_queue("default", by="test")
    waiting = fleet.submit("noop", 5)

    fleet.finished(running)
    assert_steps_done(fleet, running)
    assert set(fleet.states(waiting).values()) == {JobState.QUEUED}
    assert fleet.app.resume_queue("default")
    fleet.finished(waiting)
    assert worker.is_alive
    fleet.sound()


def test_processes_that_submit_the_same_keys_at_once_make_each_job_once(fleet: Fleet) -> None:
    fleet.app.store  # noqa: B018 - makes the schema
    processes = [
        WarmProcess(
            [sys.executable, submitting.__file__, fleet.url, f"process {number}"],
            cwd=REPOSITORY,
            env=environment_of(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        answers = [process.communicate("go\n", timeout=30)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()

    made = [json.loads(answer) for answer in answers]
    for key in made[0]:
        ids, created = zip(*(answer[key] for answer in made), strict=True)
        assert len(set(ids)) == 1, f"{key} names one job for everybody"
        assert sum(created) == 1, f"{key} was made by one of them"
    assert len(fleet.app.jobs(limit=1_000)) == 2 * submitting.KEYS
