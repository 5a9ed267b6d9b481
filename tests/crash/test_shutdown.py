"""Workers that are told to end."""

import signal
import time
from pathlib import Path

import pytest

from holdfast import JobState
from tests.crash.fleet import Fleet, eventually
from tests.crash.sampling import JOB_POINTS, on_both_databases, slow
from tests.crash.verdict import (
    assert_no_attempt_spent,
    assert_no_stage_repeated,
    assert_steps_done,
)

POINTS_OF_A_QUIET_RUN = [point for point in JOB_POINTS if not point.startswith("sweep")]
QUICK = {"claim.after", "run.before", "apply.before", "renew.after"}


@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(POINTS_OF_A_QUIET_RUN, quick=QUICK, quick_on_sqlite={"run.before"}),
    indirect=["database_url"],
)
def test_a_worker_told_to_end_at_any_point_ends_in_order_and_costs_no_attempt(
    fleet: Fleet, point: str
) -> None:
    jobs = fleet.submit("steps", 6, pause=0.2)
    worker = fleet.start(failpoints=f"{point}=term", concurrency=2)
    assert worker.ended(within_s=10) == 0

    draining = worker.said("draining")["at"]
    begun = {run.job for run in fleet.executions() if run.at <= draining + 0.1}
    late = [run.job for run in fleet.executions() if run.at > draining + 0.1]
    # A stage whose predecessor was being stored at that moment may still follow it.
    assert len(late) == len(set(late))
    assert set(late) <= begun, "no job begins after the end was announced"
    assert fleet.app.store.held_by(worker.id) == []
    assert not worker.events("dropped")
    fleet.start(lease=30.0)
    fleet.finished(jobs)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet)
    assert_no_attempt_spent(fleet, jobs)
    fleet.sound()


@pytest.mark.parametrize("pipeline", ["steps", slow("nap"), "child"])
def test_a_handler_that_fits_into_the_grace_period_is_let_finish(
    postgres_fleet: Fleet, pipeline: str
) -> None:
    fleet = postgres_fleet
    [job] = fleet.submit(pipeline, pause=0.8, seconds=0.8, does="sleep")
    worker = fleet.start(grace=10.0)
    eventually(lambda: fleet.executions(job), what="the handler runs")
    waiting = fleet.submit("noop", 3)
    worker.signal(signal.SIGTERM)

    assert worker.ended(within_s=10) == 0
    assert len(fleet.executions(job)) == 1
    assert fleet.app.job(job).state is (
        JobState.QUEUED if pipeline == "steps" else JobState.COMPLETE
    )
    taken = [state for state in fleet.states(waiting).values() if state is JobState.PROCESSING]
    assert taken == []
    assert_no_attempt_spent(fleet, [job, *waiting])
    fleet.sound()


@pytest.mark.parametrize("pipeline", ["steps", "child"])
def test_a_handler_that_outlives_the_grace_period_is_stopped_and_handed_back(
    sqlite_fleet: Fleet, pipeline: str
) -> None:
    fleet = sqlite_fleet
    [job] = fleet.submit(pipeline, pause=60.0, seconds=60.0, does="sleep")
    worker = fleet.start(grace=0.5)
    eventually(lambda: fleet.executions(job), what="the handler runs")
    began = time.monotonic()
    worker.signal(signal.SIGTERM)

    assert worker.ended(within_s=10) == 0
    assert time.monotonic() - began >= 0.5
    view = fleet.app.job(job)
    assert (view.state, view.job.attempt, view.job.interruptions) == (JobState.QUEUED, 0, 1)
    assert [line.event for line in fleet.app.history(job)][-1] == "interrupted"
    fleet.sound()


@pytest.mark.parametrize(
    ("pipeline", "does"),
    [
        ("nap", ""),
        slow("stubborn", "ignore cancellation"),
        ("stubborn", "block the loop"),
    ],
)
def test_a_handler_that_cannot_be_stopped_does_not_keep_the_worker(
    sqlite_fleet: Fleet, pipeline: str, does: str
) -> None:
    fleet = sqlite_fleet
    [job] = fleet.submit(pipeline, seconds=60.0, does=does)
    worker = fleet.start(grace=0.5)
    eventually(lambda: fleet.executions(job), what="the handler runs")
    began = time.monotonic()
    worker.signal(signal.SIGTERM)

    assert worker.ended(within_s=15) == 1
    assert time.monotonic() - began < 0.5 + 8
    # The job is not lost: handed back, or left to the end of its lease.
    fleet.start()
    eventually(lambda: len(fleet.executions(job)) == 2, what="another worker runs it")
    fleet.sound()


@pytest.mark.parametrize("number", [signal.SIGTERM, slow(signal.SIGINT)])
def test_the_second_signal_does_not_wait_for_the_grace_period(
    postgres_fleet: Fleet, number: signal.Signals
) -> None:
    fleet = postgres_fleet
    [job] = fleet.submit("steps", pause=60.0)
    worker = fleet.start(grace=60.0)
    eventually(lambda: fleet.executions(job), what="the handler runs")
    worker.signal(number)
    worker.said("draining")
    worker.signal(number)

    assert worker.ended(within_s=10) == 0
    view = fleet.app.job(job)
    assert (view.state, view.job.attempt) == (JobState.QUEUED, 0)
    fleet.sound()


@pytest.mark.parametrize("number", [signal.SIGTERM, slow(signal.SIGINT)])
def test_a_signal_to_the_whole_process_group_costs_child_processes_no_attempt(
    sqlite_fleet: Fleet, number: signal.Signals
) -> None:
    fleet = sqlite_fleet
    [job] = fleet.submit("child", does="sleep", seconds=1.0)
    worker = fleet.start(grace=10.0)
    eventually(lambda: fleet.executions(job), what="the handler runs")
    worker.signal_group(number)

    assert worker.ended() == 0
    fleet.finished([job])
    assert_no_attempt_spent(fleet, [job])


def test_programs_that_a_handler_starts_can_be_ended_by_it(sqlite_fleet: Fleet) -> None:
    sqlite_fleet.start()
    [job] = sqlite_fleet.submit("child", does="start a program")
    sqlite_fleet.finished([job])
    assert sqlite_fleet.app.job(job).result == -signal.SIGTERM


def test_no_child_process_outlives_a_killed_worker(sqlite_fleet: Fleet) -> None:
    [job] = sqlite_fleet.submit("child", does="sleep", seconds=60.0)
    worker = sqlite_fleet.start()
    [run] = eventually(lambda: sqlite_fleet.executions(job), what="the handler runs")
    assert run.pid != worker.pid
    worker.signal(signal.SIGKILL)

    eventually(lambda: not _exists(run.pid), what="the child has ended", within_s=5)


def _exists(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_backlog_is_left_alone_by_a_worker_that_ends(fleet: Fleet) -> None:
    jobs = fleet.submit("nap", 60, seconds=0.1)
    worker = fleet.start(concurrency=2, grace=5.0)
    eventually(fleet.executions, what="the worker is at work")
    worker.signal(signal.SIGTERM)

    assert worker.ended(within_s=10) == 0
    found = fleet.app.store.get(jobs).values()
    complete = [job for job in found if job.state is JobState.COMPLETE]
    queued = [job for job in found if job.state is JobState.QUEUED and job.attempt == 0]
    assert len(complete) + len(queued) == len(jobs)
    assert queued
    assert len(fleet.executions()) == len(complete), "what began was finished"
    fleet.sound()
