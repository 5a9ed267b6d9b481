"""Workers that stand still until their leases have ended, and then go on as if nothing was."""

import signal
import time

import pytest

from holdfast import JobState
from tests.crash.fleet import Fleet, WorkerProcess, eventually
from tests.crash.sampling import on_both_databases, slow
from tests.crash.verdict import assert_ledgers_agree, assert_steps_done

LEASE_S = 1.0
KNOWN = "steps,noop,stubborn"


def _stopped(fleet: Fleet, failpoints: str, *, pause: float) -> tuple[WorkerProcess, list[str]]:
    return fleet.stopped_with(
        lambda: fleet.submit("steps", pause=pause), failpoints, lease=LEASE_S, only=KNOWN
    )


def _wait_out(since: float, leases: float) -> None:
    eventually(lambda: time.monotonic() - since > leases * LEASE_S, what="the lease is long over")


@pytest.mark.parametrize(
    ("database_url", "point"),
    on_both_databases(
        ["claim.after", "run.before", "run.after", "apply.before", "renew.before", "renew.after"],
        quick={"claim.after", "run.after", "apply.before"},
        quick_on_sqlite={"run.after"},
    ),
    indirect=["database_url"],
)
@pytest.mark.parametrize("leases", [1.2, slow(3.0)])
def test_a_worker_that_stood_still_for_longer_than_its_lease_finishes_nothing(
    fleet: Fleet, point: str, leases: float
) -> None:
    pause = 0.6 if point.startswith("renew") else 0.05
    at = ":2" if point == "renew.before" else ""  # the first renewal has nothing to renew
    zombie, jobs = _stopped(fleet, f"{point}=stop{at}", pause=pause)
    stopped_at = time.monotonic()

    fleet.start(lease=LEASE_S)
    fleet.finished(jobs)
    _wait_out(stopped_at, leases)
    zombie.signal(signal.SIGCONT)
    eventually(
        lambda: zombie.events("dropped") or zombie.events("lease_lost"),
        what="the refusal is logged",
    )
    [after] = fleet.submit("noop")
    fleet.finished([after])
    zombie.signal(signal.SIGTERM)
    assert zombie.ended() == 0

    assert zombie.said("ended")["refused"] == 1
    assert not [line for line in zombie.log() if line["level"] == "ERROR"], "refused, not failed"
    assert_steps_done(fleet, jobs)
    _assert_one_owner(fleet, jobs[0], zombie)
    fleet.sound()


@pytest.mark.parametrize("point", ["apply.after", "announce.before"])
def test_what_was_stored_before_a_worker_stood_still_stands(fleet: Fleet, point: str) -> None:
    zombie, jobs = _stopped(fleet, f"{point}=stop", pause=0.05)
    fleet.start(lease=LEASE_S)
    fleet.finished(jobs)
    zombie.signal(signal.SIGCONT)
    zombie.signal(signal.SIGTERM)
    assert zombie.ended() == 0

    assert_steps_done(fleet, jobs)
    [first] = fleet.executions(jobs[0], "one")
    assert first.pid == zombie.pid, "its stored stage was not run again"
    _assert_one_owner(fleet, jobs[0], zombie)
    fleet.sound()


def _assert_one_owner(fleet: Fleet, job: str, zombie: WorkerProcess) -> None:
    """Each stage ended once, and from the take-over on by the other worker alone."""
    assert_ledgers_agree(fleet, [job])
    holders = [line.entry.holder for line in fleet.app.store.ledger(job)]
    new_owner = holders[-1]
    assert new_owner != zombie.id
    assert zombie.id not in holders[holders.index(new_owner) :]


def test_a_lease_that_ends_while_its_handler_runs_belongs_to_the_next_owner(
    postgres_fleet: Fleet,
) -> None:
    """The handler lets no other thread run, so nothing can renew its lease."""
    fleet = postgres_fleet
    other = fleet.start(lease=LEASE_S, only="stubborn")
    other.said("started")
    other.signal(signal.SIGSTOP)
    [job] = fleet.submit("stubborn", does="hold the interpreter", seconds=4 * LEASE_S)
    zombie = fleet.start(lease=LEASE_S, only="stubborn")
    [first] = eventually(lambda: fleet.executions(job), what="the handler runs")
    other.signal(signal.SIGCONT)
    eventually(lambda: len(fleet.executions(job)) > 1, what="the job was taken over")
    second = fleet.executions(job)[1]
    assert (first.pid, second.pid) == (zombie.pid, other.pid)
    assert (first.attempt, second.attempt) == (1, 2)
    assert second.at - first.at > LEASE_S, "no lease is taken before it has ended"

    # The other one starves its own renewals too, so the third attempt may go to either.
    ended = fleet.ended([job])
    completed = [line for line in fleet.app.store.ledger(job) if line.state is JobState.COMPLETE]
    assert len(completed) == (ended[0].state is JobState.COMPLETE)
    assert len(fleet.executions(job)) <= 3
    eventually(
        lambda: zombie.events("dropped") or zombie.events("lease_lost"),
        what="the refusal is logged",
    )
    fleet.sound()


def test_a_result_that_comes_after_the_deadline_is_kept_as_late_and_changes_nothing(
    fleet: Fleet,
) -> None:
    zombie, [job] = fleet.stopped_with(
        # Long enough for a worker to start on a busy machine: the job is there before it is.
        lambda: [fleet.app.submit("steps", {"n": 1}, deadline=5.0).id],
        "run.after=stop",
        lease=30.0,  # so that it is the deadline that ends the job
        only=KNOWN,
    )
    fleet.start(lease=30.0, only="noop")
    fleet.finished([job], state=JobState.FAILED)
    failed = fleet.app.job(job)
    assert failed.error is not None
    assert failed.error["error_class"] == "TIMEOUT"
    zombie.signal(signal.SIGCONT)

    eventually(lambda: fleet.app.job(job).late_result is not None, what="the late result is kept")
    late = fleet.app.job(job)
    assert (late.state, late.late_result, late.error) == (JobState.FAILED, 2, failed.error)
    assert late.job.finished_at == failed.job.finished_at
    fleet.sound()


def test_a_worker_that_wakes_after_the_deadline_keeps_its_own_result_as_late(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    zombie = fleet.start(failpoints="run.after=stop", only=KNOWN, sweep=60.0)
    zombie.said("started")
    job = fleet.app.submit("steps", {"n": 1}, deadline=1.5).id
    zombie.stopped()
    deadline = fleet.app.job(job).job.deadline_at or 0
    surely = deadline + 500_000  # both tell the time of the store within some milliseconds
    eventually(lambda: fleet.app.clock.now() > surely, what="the deadline has passed")
    zombie.signal(signal.SIGCONT)

    fleet.finished([job], state=JobState.FAILED)
    view = fleet.app.job(job)
    assert view.error is not None
    assert (view.error["error_class"], view.late_result) == ("TIMEOUT", 2)
    assert [run.stage for run in fleet.executions(job)] == ["one"]
    fleet.sound()
