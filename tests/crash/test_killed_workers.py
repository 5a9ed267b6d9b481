"""Workers that die by SIGKILL, by their own handlers, or by being replaced."""

import signal

import pytest

from holdfast import JobState
from tests.crash.fleet import Fleet
from tests.crash.sampling import JOB_POINTS, on_both_databases, slow
from tests.crash.verdict import assert_ledgers_agree, assert_no_stage_repeated, assert_steps_done


@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(
        JOB_POINTS, quick_on_sqlite={"claim.after", "run.after", "apply.after", "sweep.before"}
    ),
    indirect=["database_url"],
)
def test_another_worker_finishes_what_a_worker_killed_at_any_point_began(
    fleet: Fleet, point: str
) -> None:
    steps = fleet.submit("steps", 4, pause=0.15)
    others = fleet.submit("noop", 4)
    kills = 1
    if point.startswith("sweep"):
        # There is nothing to sweep before a worker has died.
        assert fleet.start(failpoints="run.after=kill").ended() == -signal.SIGKILL
        kills += 1

    assert fleet.start(failpoints=f"{point}=kill").ended() == -signal.SIGKILL
    fleet.start()

    fleet.finished([*steps, *others])
    assert_steps_done(fleet, steps)
    assert_no_stage_repeated(fleet, extra=kills)
    assert_ledgers_agree(fleet, [*steps, *others])
    fleet.sound()


@pytest.mark.parametrize("at", [slow(2), 3, slow(4)])
@pytest.mark.parametrize("point", ["run.after", slow("apply.before"), slow("apply.after")])
def test_a_kill_at_a_later_stage_repeats_none_before_it(fleet: Fleet, point: str, at: int) -> None:
    jobs = fleet.submit("steps", 2, pause=0.02)
    assert fleet.start(failpoints=f"{point}=kill:{at}", concurrency=1).ended() == -signal.SIGKILL
    before = {(run.job, run.stage, run.attempt) for run in fleet.executions()}
    fleet.start(concurrency=1)

    fleet.finished(jobs)
    assert_steps_done(fleet, jobs)
    assert_no_stage_repeated(fleet, extra=1)
    assert_ledgers_agree(fleet, jobs)
    again = [run for run in fleet.executions() if (run.job, run.stage, run.attempt) in before]
    assert len(again) == len(before), "no attempt has two bodies"
    fleet.sound()


def test_a_job_that_kills_its_worker_is_given_up_when_its_budget_is_spent(fleet: Fleet) -> None:
    [job] = fleet.submit("deadly")
    for attempt in (1, 2, 3):
        assert fleet.start(lease=0.5).ended() == -signal.SIGKILL
        assert [run.attempt for run in fleet.executions(job)] == list(range(1, attempt + 1))
    fleet.start()
    others = fleet.submit("noop", 3)

    fleet.finished(others)
    fleet.finished([job], state=JobState.FAILED)
    error = fleet.app.job(job).error
    assert error is not None
    assert error["error_class"] == "WORKER_LOST"
    assert len(fleet.executions(job)) == 3
    fleet.sound()


@pytest.mark.parametrize("does", ["segfault", slow("exit"), slow("close every file")])
def test_a_job_that_kills_its_child_process_spends_attempts_and_not_the_worker(
    sqlite_fleet: Fleet, does: str
) -> None:
    fleet = sqlite_fleet
    worker = fleet.start(processes=1)
    [job] = fleet.submit("child", does=does, seconds=60)
    fleet.finished([job], state=JobState.FAILED)

    error = fleet.app.job(job).error
    assert error is not None
    assert error["error_class"] == "WORKER_CRASH"
    assert [run.attempt for run in fleet.executions(job)] == [1, 2, 3]
    [next_one] = fleet.submit("child", does="sleep")
    fleet.finished([next_one])
    assert worker.is_alive
    fleet.sound()


def test_a_worker_restarted_under_the_same_id_does_not_keep_its_old_leases_alive(
    fleet: Fleet,
) -> None:
    [job] = fleet.submit("reborn")
    worker = fleet.start(seed=7)

    fleet.finished([job])
    first, second = worker.events("made")
    assert first["worker"] == second["worker"]
    runs = fleet.executions(job)
    assert [run.attempt for run in runs] == [1, 2]
    assert [run.pid for run in runs] == [worker.pid, worker.pid]
    [lost] = [line for line in fleet.app.history(job) if line.event == "retried"]
    assert lost.meta["error_code"] == "WORKER_LOST"
    fleet.sound()


def test_two_workers_of_one_host_never_share_an_id(sqlite_fleet: Fleet) -> None:
    fleet = sqlite_fleet
    workers = [fleet.start() for _ in range(2)]
    assert len({worker.id for worker in workers}) == 2
