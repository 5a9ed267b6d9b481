"""Attempts and waits: each stage has five, and no wait is longer than it may be."""

from datetime import datetime

from apps.criticizer.tests.llm_server import Answer
from tests.deployed.process import eventually
from tests.deployed.scripted_server import Reply, json_reply

BASE_S = 0.04
BROKEN = json_reply({"name": "internal_server_error", "message": "no"}, status=500)


def test_four_failures_in_every_stage_leave_the_others_their_budgets(site):
    site.changes.then(*[Reply(status=503)] * 4)
    site.llm.say(*[Answer(status=500)] * 4)
    to = "patient@example.org"
    site.mail.before = lambda _, number: BROKEN if number <= 4 else None

    review = site.reviewed(changelist_id="cl-budgets", recipients=[to])

    assert review["status"] == "succeeded"
    assert site.mail.sends.count(to) == 5
    assert site.mail.told()[to] == 1


def test_a_stage_ends_after_its_fifth_failure_and_calls_nobody_further(site):
    calls = len(site.llm.calls)
    site.llm.say(*[Answer(status=500)] * 5)

    review = site.reviewed(changelist_id="cl-spent", recipients=["spent@example.org"])

    letter = site.letter(review)
    assert (review["status"], letter["stage"], letter["attempts"]) == ("dead_lettered", "llm", 5)
    assert len(site.llm.calls) - calls == 5
    assert site.mail.told()["spent@example.org"] == 0


def test_waits_are_worked_out_anew_for_every_attempt_and_stay_within_their_bounds(site):
    site.changes.then(*[Reply(status=503)] * 4)
    review = site.reviewed(changelist_id="cl-waits")

    events = site.http.get(f"/api/jobs/{review['job_id']}/events").json()["items"]

    waits_s = [
        each["meta"]["delay_us"] / 1_000_000 for each in events if each["event"] == "retried"
    ]
    assert len(waits_s) == 4
    assert all(0 <= wait_s <= BASE_S * 2**n + 0.001 for n, wait_s in enumerate(waits_s)), waits_s
    assert len(set(waits_s)) > 1


def test_a_source_that_asks_for_a_second_gets_it(site_with):
    site = site_with()
    site.changes.then(Reply(status=429, headers={"Retry-After": "1"}))

    site.reviewed()

    first, second = [call.started_at_s for call in site.changes.calls]
    assert second - first >= 1


def test_a_source_that_asks_for_an_hour_gets_five_minutes(site_with):
    site = site_with()
    site.changes.then(Reply(status=503, headers={"Retry-After": "3600"}))
    made = site.ask().json()

    def retried():
        job = site.http.get(f"/api/jobs/{made['job_id']}").json()
        return job if job["label"] == "retrying" else None

    job = eventually(retried, "the first attempt fails")

    asked_at = datetime.fromisoformat(job["updated_at"])
    wait_s = (datetime.fromisoformat(job["run_at"]) - asked_at).total_seconds()
    assert 299 <= wait_s <= 300
    assert site.review()["status"] == "retryable_failed"
