"""A real Celery fleet on a real broker, and what is done to it: every job ends, once."""

import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast import JobState
from holdfast.core.decision import Kind
from holdfast.testing.conformance.publishing import rolled_back
from holdfast.testing.proxy import PostgresProxy
from holdfast.testing.rabbitmq_server import PrivateRabbitmq
from tests.crash.celery_fleet import CeleryFleet, poison
from tests.crash.fleet import eventually

pytestmark = pytest.mark.timeout(300)
LONG_S = 90.0
HEADERS = {"task": "holdfast.run", "id": "m-1", "lang": "py"}
JSON = {"content_type": "application/json", "content_encoding": "utf-8", "headers": HEADERS}


@pytest.fixture
def fleet(database_url: str, amqp_url: str, tmp_path: Path) -> Iterator[CeleryFleet]:
    made = CeleryFleet(database_url, broker_url=amqp_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def postgres_fleet(postgres_url: str, amqp_url: str, tmp_path: Path) -> Iterator[CeleryFleet]:
    made = CeleryFleet(postgres_url, broker_url=amqp_url, folder=tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[PostgresProxy]:
    with PostgresProxy(postgres_url) as made:
        yield made


@pytest.fixture
def cut_fleet(proxy: PostgresProxy, amqp_url: str, tmp_path: Path) -> Iterator[CeleryFleet]:
    """A fleet whose way to the database is a proxy."""
    made = CeleryFleet(proxy.url, broker_url=amqp_url, folder=tmp_path)
    try:
        yield made
    finally:
        proxy.pass_through()
        made.end()


@pytest.fixture
def hurt_fleet(
    postgres_url: str, rabbitmq_server: PrivateRabbitmq, tmp_path: Path
) -> Iterator[CeleryFleet]:
    """A fleet on a broker of its own, which takes deliveries back after five seconds."""
    made = CeleryFleet(postgres_url, broker_url=rabbitmq_server.url, folder=tmp_path, hold_s=2.0)
    try:
        yield made
    finally:
        rabbitmq_server.start()
        made.end()


def test_what_commits_runs_once_in_time_and_what_is_rolled_back_does_not(fleet: CeleryFleet):
    shop = fleet.shop
    fleet.herald()
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


def test_a_child_that_is_killed_mid_job_costs_an_attempt_and_nothing_else(
    postgres_fleet: CeleryFleet,
):
    fleet = postgres_fleet
    fleet.herald()
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
    fleet.herald()
    worker = fleet.start()
    job = fleet.shop.stall.delay("b", 60)
    fleet.has_run("stall-b")
    worker.kill()

    fleet.start()

    assert job.wait(LONG_S).result == "b"
    assert fleet.runs()["stall-b"] == 2
    assert fleet.app.verify() == []


def test_a_task_that_kills_its_worker_ends_as_a_dead_letter_with_backoff_in_between(
    postgres_fleet: CeleryFleet,
):
    fleet = postgres_fleet
    fleet.herald()
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


def test_poison_becomes_a_dead_letter_and_the_fleet_goes_on(postgres_fleet: CeleryFleet):
    fleet = postgres_fleet
    fleet.herald()
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

    assert sorted(fleet.dead(8)) == sorted([*bodies, b"[]", b"what?"])
    assert fleet.shop.add.delay(1).wait(LONG_S).result == 2
    assert worker.is_alive


@pytest.mark.slow
def test_one_worker_runs_tasks_of_celerys_beside_durable_ones(postgres_fleet: CeleryFleet):
    fleet = postgres_fleet
    fleet.herald()
    queue = f"{fleet.exchange}-plain"
    fleet.start(queues=f"{queue},{fleet.exchange}.default").ready()

    fleet.shop.plain.apply_async(("x",), queue=queue)
    job = fleet.shop.add.delay(1)

    assert job.wait(LONG_S).result == 2
    fleet.has_run("plain-x")


@pytest.mark.slow
def test_two_heralds_tell_of_a_job_twice_and_it_runs_once(postgres_fleet: CeleryFleet):
    fleet = postgres_fleet
    fleet.herald()
    fleet.herald()
    fleet.start()

    made = [fleet.shop.work.delay(n) for n in range(100)]

    assert [job.wait(LONG_S).result for job in made] == list(range(100))
    assert set(fleet.runs().values()) == {1}


@pytest.mark.parametrize("harm", ["stop", pytest.param("kill", marks=pytest.mark.slow)])
def test_while_the_broker_is_away_jobs_wait_and_then_all_run(
    hurt_fleet: CeleryFleet, rabbitmq_server: PrivateRabbitmq, harm: str
):
    fleet = hurt_fleet
    fleet.herald()
    fleet.start().ready()
    assert fleet.shop.add.delay(0).wait(LONG_S).result == 1
    getattr(rabbitmq_server, harm)()

    made = [fleet.shop.work.delay(n) for n in range(20)]
    assert all(job.get().state is JobState.QUEUED for job in made)
    rabbitmq_server.start()

    assert [job.wait(LONG_S).result for job in made] == list(range(20))
    assert set(fleet.runs().values()) == {1}


@pytest.mark.parametrize(
    ("harm", "rounds"),
    [
        ("refuse", 1),
        pytest.param("refuse", 3, marks=pytest.mark.slow),
        pytest.param("black_hole", 2, marks=pytest.mark.slow),
    ],
)
def test_while_the_database_is_away_jobs_wait_and_each_ends_once(
    cut_fleet: CeleryFleet, proxy: PostgresProxy, harm: str, rounds: int
):
    fleet = cut_fleet
    fleet.herald()
    worker = fleet.start()
    made = [fleet.shop.nap.delay(n) for n in range(20 * rounds)]

    for number in range(1, rounds + 1):
        eventually(lambda number=number: len(fleet.runs()) >= 12 * number, what="work", within_s=60)
        getattr(proxy, harm)()
        time.sleep(4)  # longer than a lease, so that all attempts under way lose theirs
        proxy.pass_through()

    assert [job.wait(LONG_S).result for job in made] == list(range(20 * rounds))
    for job in made:
        kinds = [entry.entry.kind for entry in fleet.app.store.ledger(job.id)]
        assert kinds.count(Kind.COMPLETED) == 1
        assert set(kinds) <= {Kind.COMPLETED, Kind.RETRIED, Kind.INTERRUPTED}
    again = sum(count - 1 for count in fleet.runs().values())
    assert again <= 2 * rounds, "only what ran in the two children may have run again"
    assert worker.is_alive
    assert fleet.app.verify() == []


@pytest.mark.slow
def test_answers_that_the_database_gave_and_nobody_heard_change_nothing(
    cut_fleet: CeleryFleet, proxy: PostgresProxy
):
    fleet = cut_fleet
    fleet.herald()
    fleet.start()
    made = [fleet.shop.work.delay(n) for n in range(60)]

    for enough in (5, 20, 40):
        eventually(lambda enough=enough: len(fleet.runs()) >= enough, what="work", within_s=60)
        lost = proxy.drop_commit_reply(tags=("COMMIT", "UPDATE", "SELECT"))
        assert lost.wait(30.0)

    assert [job.wait(LONG_S).result for job in made] == list(range(60))
    for job in made:
        kinds = [entry.entry.kind for entry in fleet.app.store.ledger(job.id)]
        assert kinds.count(Kind.COMPLETED) == 1
    assert fleet.app.verify() == []


@pytest.mark.slow
def test_a_job_that_outlasts_the_brokers_patience_runs_once(hurt_fleet: CeleryFleet):
    fleet = hurt_fleet
    fleet.herald()
    worker = fleet.start()
    job = fleet.shop.stall.delay("long", 12)
    fleet.has_run("stall-long")
    others = [fleet.shop.add.delay(n) for n in range(3)]

    assert job.wait(LONG_S).result == "long"
    assert [other.wait(LONG_S).result for other in others] == [1, 2, 3]
    assert fleet.runs()["stall-long"] == 1
    assert job.get().job.attempt == 1
    assert "PRECONDITION_FAILED" not in worker.log.read_text("utf-8", "replace")


@pytest.mark.slow
def test_what_runs_when_a_worker_is_told_to_stop_is_finished_or_handed_back_at_no_cost(
    postgres_fleet: CeleryFleet,
):
    fleet = postgres_fleet
    fleet.herald()
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
    fleet.herald()
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


@pytest.mark.parametrize(
    ("pool", "places"), [("threads", 3), pytest.param("solo", 1, marks=pytest.mark.slow)]
)
def test_a_pool_of_one_process_runs_as_many_jobs_at_a_time_as_it_has_places(
    postgres_fleet: CeleryFleet, pool: str, places: int
):
    fleet = postgres_fleet
    fleet.herald()
    worker = fleet.start(pool=pool, places=places, with_options_of_pool=True)

    together = [fleet.shop.meet.delay("a", n, places - 1) for n in range(places)]
    stages = fleet.app.submit(fleet.shop.steps, {"n": 5})

    assert [job.wait(LONG_S).result for job in together] == [places] * places
    assert stages.wait(LONG_S).result == 61
    assert set(fleet.runs().values()) == {1}
    assert len({pid for _, pid, _ in fleet.notes()} - {_of_stage_three(fleet)}) == 1
    assert worker.end() == 0
    assert fleet.app.verify() == []


@pytest.mark.slow
@pytest.mark.parametrize(("pool", "places"), [("threads", 3), ("solo", 1)])
def test_a_worker_of_one_process_that_is_killed_is_followed_by_another(
    postgres_fleet: CeleryFleet, pool: str, places: int
):
    fleet = postgres_fleet
    fleet.herald()
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
    fleet.herald()
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


def _of_stage_three(fleet: CeleryFleet) -> int:
    """The child in which the stage ran that has a process of its own."""
    return next(pid for name, pid, _ in fleet.notes() if name.startswith("three-"))
