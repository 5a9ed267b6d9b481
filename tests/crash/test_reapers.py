"""Every worker takes back what lost workers held; several at once do so once."""

import signal
import time

import pytest

from holdfast import JobState
from holdfast.core.job.decision import Kind
from tests.crash.fleet import Fleet, WorkerProcess, eventually
from tests.crash.verdict import assert_ledgers_agree

pytestmark = pytest.mark.slow

LEASE_S = 1.0
JOBS = 30


def _reapers(fleet: Fleet, count: int) -> list[WorkerProcess]:
    """Workers that sweep all the time, and have no handler for what they take back."""
    started = [fleet.start(only="noop", lease=LEASE_S, sweep=0.02) for _ in range(count)]
    for reaper in started:
        reaper.said("started")
    return started


def _abandoned(fleet: Fleet, count: int) -> list[str]:
    """Jobs whose worker was killed in the middle of their first stage."""
    jobs = fleet.submit("steps", count, pause=60.0)
    victim = fleet.start(only="steps", lease=LEASE_S, concurrency=count)
    eventually(lambda: {run.job for run in fleet.executions()} >= set(jobs), what="all are running")
    victim.signal_group(signal.SIGKILL)
    victim.ended()
    return jobs


def _assert_reclaimed_once(fleet: Fleet, jobs: list[str]) -> None:
    for job in jobs:
        [line] = fleet.app.store.ledger(job)
        entry = line.entry
        assert (entry.kind, entry.error_class, entry.attempt) == (Kind.RETRIED, "WORKER_LOST", 1)
        row = fleet.app.job(job).job
        # One revision for the claim, one for the reclaim.
        assert (row.state, row.attempt, row.revision) == (JobState.QUEUED, 1, 2)


def _queued(fleet: Fleet, jobs: list[str]) -> bool:
    return set(fleet.states(jobs).values()) == {JobState.QUEUED}


def test_several_reapers_at_once_take_each_job_back_once(fleet: Fleet) -> None:
    reapers = _reapers(fleet, 3)
    jobs = _abandoned(fleet, JOBS)

    eventually(lambda: _queued(fleet, jobs), what="all are taken back")
    _assert_reclaimed_once(fleet, jobs)
    # Whatever the others had in their hands by then, they have tried by now.
    [after] = fleet.submit("noop")
    fleet.finished([after])
    seen = time.monotonic()
    eventually(lambda: time.monotonic() - seen > 0.5, what="many more sweeps")
    _assert_reclaimed_once(fleet, jobs)
    assert all(reaper.is_alive for reaper in reapers)
    assert not [line for one in reapers for line in one.log() if line["level"] == "ERROR"]
    fleet.sound()


def test_a_reaper_that_stood_still_with_what_it_had_read_changes_nothing(fleet: Fleet) -> None:
    late, jobs = fleet.stopped_with(
        lambda: _abandoned(fleet, 5),
        "sweep.before=stop",
        only="noop",
        # It hardly writes, so that it does not stop in the middle of that.
        lease=30.0,
        poll=10.0,
    )
    stopped_at = time.monotonic()
    _reapers(fleet, 3)
    eventually(lambda: _queued(fleet, jobs), what="the others have taken them back")
    eventually(lambda: time.monotonic() - stopped_at > 2 * LEASE_S, what="time has passed")
    late.signal(signal.SIGCONT)
    [after] = fleet.submit("noop")
    fleet.finished([after])
    late.signal(signal.SIGTERM)
    assert late.ended() == 0

    assert not [line for line in late.log() if line["level"] == "ERROR"], "refused, not failed"
    _assert_reclaimed_once(fleet, jobs)
    fleet.sound()


def test_jobs_taken_back_by_several_reapers_run_to_their_end_once(fleet: Fleet) -> None:
    _reapers(fleet, 2)
    jobs = fleet.submit("steps", 10, pause=0.3)
    victim = fleet.start(
        only="steps", lease=LEASE_S, concurrency=10, failpoints="apply.before=kill"
    )
    assert victim.ended() == -signal.SIGKILL
    fleet.start(only="steps,noop", lease=LEASE_S, sweep=0.02, concurrency=10)
    fleet.finished(jobs)

    for job in jobs:
        lost = [
            line.entry
            for line in fleet.app.store.ledger(job)
            if line.entry.error_class == "WORKER_LOST"
        ]
        assert len(lost) <= 1
    assert_ledgers_agree(fleet, jobs)
    fleet.sound()
