"""A real Celery fleet on a real broker: what it runs, when it stops, and what it refuses."""

import pytest

from holdfast import JobState
from holdfast.core.job.decision import Kind
from holdfast.testing.conformance.messages.outbox import rolled_back
from tests.crash.celery_fleet import CeleryFleet, poison
from tests.crash.fleet import eventually

pytestmark = pytest.mark.timeout(300)
LONG_S = 90.0
HEADERS = {"task": "holdfast.run", "id": "m-1", "lang": "py"}
JSON = {"content_type": "application/json", "content_encoding": "utf-8", "headers": HEADERS}


def test_what_commits_runs_once_in_time_and_what_is_rolled_back_does_not(fleet: CeleryFleet):
    shop = fleet.shop
    fleet.dispatcher()
    fleet.start()
    first = shop.add.delay(1, y=2)
    later = shop.add.apply_async((2,), countdown=2)
    with fleet.app.store.transaction() as connection, shop.durable.using(connection):
        kept = shop.add.delay(3)
    with rolled_back(fleet.app.store) as connection, shop.durable.using(connection):
        shop.add.delay(4)
    stages = fleet.app.submit(shop.steps, {"n": 5})

    assert first.wait(LONG_S).result == 3
    assert later.wait(LONG_S).result == 3
    assert kept.wait(LONG_S).result == 4
    assert stages.wait(LONG_S).result == 61
    view = later.get()
    assert view.job.started_at >= view.job.created_at + 2_000_000
    assert set(fleet.runs().values()) == {1}
    assert fleet.runs().keys() == {"add-1", "add-2", "add-3", "one-5", "two-6", "three-60"}
    assert fleet.workers[0].end() == 0
    assert fleet.app.verify() == []


@pytest.mark.slow
def test_poison_becomes_a_dead_letter_at_once_and_the_fleet_goes_on(postgres_fleet: CeleryFleet):
    fleet = postgres_fleet
    fleet.dispatcher()
    route = {"queue": "default", "pipeline": "add", "stage": "run"}
    unknown = "01a1e20e-f7bd-766a-afe3-548dc18f1ad7"
    bodies = [
        poison({"version": 2, **route, "jobs": [unknown]}),
        poison({"version": 1, **route, "jobs": [unknown]}),
        poison({"version": 1, **route, "jobs": ["os.system"]}),
        poison({"version": 1, "jobs": [unknown]}),
        b'[["positional"], {}, {}]',
        b"{no json",
    ]
    for body in bodies:
        fleet.send(body, **JSON)
    fleet.send(b"[]", **{**JSON, "headers": {**HEADERS, "task": "os.system"}})
    fleet.send(b"what?", content_type="text/plain")
    worker = fleet.start()

    letters = fleet.dead(8)
    assert sorted(letter.body for letter in letters) == sorted([*bodies, b"[]", b"what?"])
    # Not because the broker had delivered them often enough.
    assert {letter.headers["x-first-death-reason"] for letter in letters} == {"rejected"}
    assert fleet.shop.add.delay(1).wait(LONG_S).result == 2
    assert worker.is_alive


@pytest.mark.slow
def test_one_worker_runs_tasks_of_celerys_beside_durable_ones(postgres_fleet: CeleryFleet):
    fleet = postgres_fleet
    fleet.dispatcher()
    queue = f"{fleet.exchange}-plain"
    fleet.start(queues=f"{queue},{fleet.exchange}.default").ready()

    fleet.shop.plain.apply_async(("x",), queue=queue)
    job = fleet.shop.add.delay(1)

    assert job.wait(LONG_S).result == 2
    fleet.has_run("plain-x")


@pytest.mark.slow
def test_two_dispatchers_tell_of_a_job_twice_and_it_runs_once(postgres_fleet: CeleryFleet):
    fleet = postgres_fleet
    fleet.dispatcher()
    fleet.dispatcher()
    fleet.start()

    made = [fleet.shop.work.delay(n) for n in range(100)]

    assert [job.wait(LONG_S).result for job in made] == list(range(100))
    assert set(fleet.runs().values()) == {1}


@pytest.mark.slow
def test_what_runs_when_a_worker_is_told_to_stop_is_finished_or_handed_back_at_no_cost(
    postgres_fleet: CeleryFleet,
):
    fleet = postgres_fleet
    fleet.dispatcher()
    worker = fleet.start()
    made = [fleet.shop.work.delay(n) for n in range(60)]
    eventually(lambda: len(fleet.runs()) > 5, what="some have run", within_s=60)

    assert worker.end() == 0
    fleet.start()

    assert [job.wait(LONG_S).result for job in made] == list(range(60))
    assert {entry.entry.kind for job in made for entry in fleet.app.store.ledger(job.id)} <= {
        Kind.COMPLETED,
        Kind.INTERRUPTED,
    }


@pytest.mark.slow
def test_a_worker_that_is_told_to_stop_begins_nothing_more_of_what_its_messages_name(
    postgres_fleet: CeleryFleet,
):
    fleet = postgres_fleet
    made = [fleet.shop.nap.delay(n) for n in range(320)]
    fleet.dispatcher()
    worker = fleet.start()
    # By then each child has a message that names twenty jobs.
    eventually(lambda: len(fleet.runs()) >= 4, what="some have run", within_s=60)

    worker.terminate()
    begun = len(fleet.notes())
    assert worker.end() == 0

    assert len(fleet.notes()) <= begun + 4
    kinds = [entry.entry.kind for job in made for entry in fleet.app.store.ledger(job.id)]
    assert set(kinds) == {Kind.COMPLETED}
    assert {job.get().state for job in made} == {JobState.COMPLETE, JobState.QUEUED}
    assert fleet.app.verify() == []


@pytest.mark.slow
@pytest.mark.parametrize(("pool", "places"), [("threads", 3), ("solo", 1)])
def test_a_pool_of_one_process_runs_as_many_jobs_at_a_time_as_it_has_places(
    postgres_fleet: CeleryFleet, pool: str, places: int
):
    fleet = postgres_fleet
    fleet.dispatcher()
    worker = fleet.start(pool=pool, places=places, with_options_of_pool=True)

    together = [fleet.shop.meet.delay("a", n, places - 1) for n in range(places)]
    stages = fleet.app.submit(fleet.shop.steps, {"n": 5})

    assert [job.wait(LONG_S).result for job in together] == [places] * places
    assert stages.wait(LONG_S).result == 61
    assert set(fleet.runs().values()) == {1}
    assert len({pid for _, pid, _ in fleet.notes()} - {_of_stage_three(fleet)}) == 1
    assert worker.end() == 0
    assert fleet.app.verify() == []


def _of_stage_three(fleet: CeleryFleet) -> int:
    """The child in which the stage ran that has a process of its own."""
    return next(pid for name, pid, _ in fleet.notes() if name.startswith("three-"))
