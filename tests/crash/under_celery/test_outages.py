"""A broker or a database that is away for a while: a Celery fleet loses nothing by it."""

import time

import pytest

from holdfast import JobState
from holdfast.core.job.decision import Kind
from holdfast.testing.rabbitmq.server import PrivateRabbitmq
from holdfast.testing.servers.proxy import PostgresProxy
from tests.crash.celery_fleet import CeleryFleet
from tests.crash.fleet import eventually

pytestmark = pytest.mark.timeout(300)
LONG_S = 90.0


@pytest.mark.parametrize("harm", ["stop", pytest.param("kill", marks=pytest.mark.slow)])
def test_while_the_broker_is_away_jobs_wait_and_then_all_run(
    hurt_fleet: CeleryFleet, rabbitmq_server: PrivateRabbitmq, harm: str
):
    fleet = hurt_fleet
    fleet.dispatcher()
    fleet.start().ready()
    assert fleet.shop.add.delay(0).wait(LONG_S).result == 1
    getattr(rabbitmq_server, harm)()

    made = [fleet.shop.work.delay(n) for n in range(20)]
    assert all(job.get().state is JobState.QUEUED for job in made)
    rabbitmq_server.start()

    assert [job.wait(LONG_S).result for job in made] == list(range(20))
    assert set(fleet.runs().values()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "rounds"),
    [("refuse", 1), ("refuse", 3), ("black_hole", 2)],
)
def test_while_the_database_is_away_jobs_wait_and_each_ends_once(
    cut_fleet: CeleryFleet, proxy: PostgresProxy, harm: str, rounds: int
):
    fleet = cut_fleet
    fleet.dispatcher()
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
    fleet.dispatcher()
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
    fleet.dispatcher()
    worker = fleet.start()
    job = fleet.shop.stall.delay("long", 12)
    fleet.has_run("stall-long")
    others = [fleet.shop.add.delay(n) for n in range(3)]

    assert job.wait(LONG_S).result == "long"
    assert [other.wait(LONG_S).result for other in others] == [1, 2, 3]
    assert fleet.runs()["stall-long"] == 1
    assert job.get().job.attempt == 1
    assert "PRECONDITION_FAILED" not in worker.log.read_text("utf-8", "replace")
