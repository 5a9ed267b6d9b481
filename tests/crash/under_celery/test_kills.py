"""Celery workers and their children are killed: every job ends, once."""

import os
import random
import signal
import time
from contextlib import suppress

import pytest

from holdfast import JobState
from holdfast.core.job.decision import Kind
from tests.crash.celery_fleet import CeleryFleet

pytestmark = pytest.mark.timeout(300)
LONG_S = 90.0


def test_a_child_that_is_killed_mid_job_costs_an_attempt_and_nothing_else(
    postgres_fleet: CeleryFleet,
):
    fleet = postgres_fleet
    fleet.dispatcher()
    fleet.start()
    job = fleet.shop.stall.delay("a", 60)
    fleet.has_run("stall-a")
    other = fleet.shop.add.delay(1)

    os.kill(fleet.notes()[0][1], signal.SIGKILL)

    assert job.wait(LONG_S).result == "a"
    assert other.wait(LONG_S).result == 2
    assert fleet.runs()["stall-a"] == 2
    kinds = [
        (entry.entry.kind, entry.entry.error_class) for entry in fleet.app.store.ledger(job.id)
    ]
    assert kinds == [(Kind.RETRIED, "WORKER_LOST"), (Kind.COMPLETED, None)]


@pytest.mark.slow
def test_a_fleet_that_is_killed_mid_job_is_followed_by_another(postgres_fleet: CeleryFleet):
    fleet = postgres_fleet
    fleet.dispatcher()
    worker = fleet.start()
    job = fleet.shop.stall.delay("b", 60)
    fleet.has_run("stall-b")
    worker.kill()

    fleet.start()

    assert job.wait(LONG_S).result == "b"
    assert fleet.runs()["stall-b"] == 2
    assert fleet.app.verify() == []


@pytest.mark.slow
def test_a_task_that_kills_its_worker_ends_as_a_dead_letter_with_backoff_in_between(
    postgres_fleet: CeleryFleet,
):
    fleet = postgres_fleet
    fleet.dispatcher()
    fleet.start()
    job = fleet.shop.suicide.delay()

    assert job.wait(LONG_S).state is JobState.FAILED
    assert fleet.app.dead.get(job.id).letter.error_class == "WORKER_LOST"
    assert fleet.runs() == {"suicide": 3}
    at = [moment for _, _, moment in fleet.notes()]
    # A lease of 2 s has to end first, then come 0.5 and 1 s of backoff.
    assert at[1] - at[0] >= 2.4
    assert at[2] - at[1] >= 2.9
    assert fleet.shop.add.delay(1).wait(LONG_S).result == 2


@pytest.mark.slow
@pytest.mark.parametrize(("pool", "places"), [("threads", 3), ("solo", 1)])
def test_a_worker_of_one_process_that_is_killed_is_followed_by_another(
    postgres_fleet: CeleryFleet, pool: str, places: int
):
    fleet = postgres_fleet
    fleet.dispatcher()
    first = fleet.start(pool=pool, places=places)
    job = fleet.shop.stall.delay("a", 60)
    fleet.has_run("stall-a")
    others = [fleet.shop.add.delay(n) for n in range(20)]
    first.kill()

    fleet.start(pool=pool, places=places)

    assert job.wait(LONG_S).result == "a"
    assert [other.wait(LONG_S).result for other in others] == [n + 1 for n in range(20)]
    assert fleet.runs()["stall-a"] == 2
    assert fleet.app.verify() == []


@pytest.mark.slow
def test_every_job_ends_once_while_children_and_workers_are_killed_at_random(fleet: CeleryFleet):
    fleet.dispatcher()
    workers = [fleet.start(), fleet.start()]
    for worker in workers:
        worker.ready()
    made = [fleet.shop.work.delay(n) for n in range(300)]
    chance = random.Random(7)
    killed = 0
    until_s = time.monotonic() + LONG_S
    while killed < 6:
        assert time.monotonic() < until_s, f"only {killed} children could be killed"
        busy = sorted({pid for _, pid, _ in fleet.notes()[-4:]})
        with suppress(ProcessLookupError, IndexError):
            os.kill(chance.choice(busy), signal.SIGKILL)
            killed += 1
        time.sleep(0.5)  # let the fleet work between two kills

    complete = 0
    for job in made:
        view = job.wait(LONG_S)
        ended = [entry.entry.kind for entry in fleet.app.store.ledger(job.id)].count(Kind.COMPLETED)
        if view.state is JobState.COMPLETE:
            assert ended == 1
            complete += 1
        else:
            assert fleet.app.dead.get(job.id).letter.error_class == "WORKER_LOST"
    assert complete >= 290, "six kills cannot cost ten jobs three attempts each"
    assert fleet.app.verify() == []
