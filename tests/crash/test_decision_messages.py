"""Messages of decisions are written with them, whichever side of the commit a worker dies on."""

import signal
from collections import Counter

import pytest

from tests.crash.fleet import Fleet

LEASE_S = 1.0
JOBS = 5


def assert_one_message_for_each_decision(fleet: Fleet, jobs: list[str]) -> None:
    found = Counter((one.aggregate_id, one.message_type) for one in fleet.app.outbox.find())
    decided = Counter(
        (job, f"noted.{line.entry.kind}") for job in jobs for line in fleet.app.store.ledger(job)
    )
    assert found == decided


@pytest.mark.parametrize("point", ["apply.before=kill", "apply.after=kill:2", "sweep.before=kill"])
def test_a_worker_that_is_killed_around_a_decision_leaves_one_message_of_each(
    fleet: Fleet, point: str
) -> None:
    jobs = fleet.submit("noted", JOBS, n=1)
    if point.startswith("sweep"):
        lost = fleet.start(only="noted", lease=LEASE_S, failpoints="run.after=kill")
        assert lost.ended() == -signal.SIGKILL
    victim = fleet.start(only="noted", lease=LEASE_S, sweep=0.02, failpoints=point)
    assert victim.ended() == -signal.SIGKILL
    fleet.start(only="noted", lease=LEASE_S, sweep=0.02)
    fleet.finished(jobs)

    assert_one_message_for_each_decision(fleet, jobs)
    fleet.sound()


def test_a_worker_without_the_pipeline_leaves_lost_jobs_to_one_that_has_it(fleet: Fleet) -> None:
    jobs = fleet.submit("noted", JOBS, n=1)
    lost = fleet.start(only="noted", lease=LEASE_S, failpoints="apply.before=kill")
    assert lost.ended() == -signal.SIGKILL
    fleet.start(only="noop", lease=LEASE_S, sweep=0.02)
    fleet.start(only="noted", lease=LEASE_S, sweep=0.5)
    fleet.finished(jobs)

    assert_one_message_for_each_decision(fleet, jobs)
    fleet.sound()
