"""A job says why it waits, in the words of the console, to those whose business it is."""

import pytest

from holdfast.core.job.job import WorkerId
from holdfast.store.contract import WorkerRow
from tests.api.routes.operating.desk import Desk


@pytest.fixture
def desk(database_url):
    made = Desk(database_url)
    yield made
    made.close()


def test_a_job_that_its_upstream_holds_says_so_and_is_listed_as_held(desk):
    job_id = desk.app.submit("p", {"n": 1}, owner="a").id
    desk.app.upstreams.force_open("gateway", by="ada")

    found = desk().get(f"/api/jobs/{job_id}").json()
    (listed,) = desk().get("/api/jobs").json()["items"]

    assert (found["state"], found["label"], listed["label"]) == ("queued", "held", "held")
    assert found["waiting"] == {
        "reason": "upstream",
        "sentence": "Held: the breaker of upstream gateway is held open by ada.",
        "brief": "the breaker of upstream gateway is held open by ada",
        "whose": "operator",
        "until": None,
        "remedy": "To let it go on: holdfast upstreams reset gateway",
    }


def test_a_job_that_is_not_due_says_when(desk):
    job_id = desk.app.submit("p", {"n": 1}, delay=60).id

    waiting = desk().get(f"/api/jobs/{job_id}").json()["waiting"]

    assert (waiting["reason"], waiting["until"]) == ("scheduled", "2026-01-01T00:01:00.000000Z")


def test_workers_are_looked_at_once_a_second_for_those_who_ask_often(desk):
    job_id = desk.app.submit("p", {"n": 1}).id

    def reason() -> str:
        return desk().get(f"/api/jobs/{job_id}").json()["waiting"]["reason"]

    before, now = reason(), desk.clock.now()
    row = WorkerRow(WorkerId("w"), "h", 1, now, now, '["default"]', 1, "running")
    desk.app.store.record_worker(row)
    meanwhile = reason()
    desk.clock.advance(1)

    assert (before, meanwhile, reason()) == ("no_worker", "no_worker", "worker")


def test_what_is_the_fleets_is_not_told_to_one_owner(desk):
    job_id = desk.app.submit("p", {"n": 1}, owner="a").id
    desk.app.pause_queue("default", by="ada")

    assert desk("submitter", "a").get(f"/api/jobs/{job_id}").json()["waiting"] is None


def test_a_job_that_has_ended_waits_for_nothing(desk):
    (job_id,) = desk.dead(1)

    assert desk().get(f"/api/jobs/{job_id}").json()["waiting"] is None
