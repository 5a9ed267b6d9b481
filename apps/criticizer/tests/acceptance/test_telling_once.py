"""Everyone is told once, by the mail service's own ledger, whatever dies."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from apps.criticizer.tests.mail_server import FAILED, RESET
from criticizer.system import build
from holdfast import Holdfast
from tests.deployed.process import eventually

ADA, BOB = "ada@example.org", "bob@example.org"
LEASES = {"WORKER_LEASE_TTL_SEC": "4"}


class TestTheKilledWorker:
    @pytest.mark.parametrize("step", [pytest.param("fetch", marks=pytest.mark.slow), "llm"])
    def test_killed_before_anything_was_sent_it_is_sent_once(self, site_with, step):
        site = site_with(**LEASES)
        server = site.changes if step == "fetch" else site.llm
        server.hold()
        site.ask(recipients=[ADA, BOB])
        server.wait_for_calls(1)
        site.restart()
        server.release()

        assert site.ended()["status"] == "succeeded"
        assert site.mail.told() == {ADA: 1, BOB: 1}

    def test_killed_while_the_mail_service_has_not_answered_it_is_sent_once(self, site_with):
        site = site_with(**LEASES)
        site.mail.hold()
        site.ask(recipients=[ADA, BOB])
        site.mail.wait_for_calls(1)
        site.restart()
        site.mail.release()

        assert site.ended()["status"] == "succeeded"
        assert site.mail.told() == {ADA: 1, BOB: 1}

    def test_killed_after_the_mail_was_taken_and_before_it_was_marked_it_is_sent_once(
        self, site_with
    ):
        site = site_with(**LEASES)
        site.mail.after = lambda _, number: RESET if number == 1 else None
        site.ask(recipients=[ADA])
        eventually(lambda: site.mail.told()[ADA], "the mail is taken")
        site.restart()

        review = site.ended()

        assert review["status"] == "succeeded"
        assert site.mail.told() == {ADA: 1}
        (row,) = review["deliveries"]
        assert (row["status"], row["notification_id"]) == ("sent", "mail-1")

    def test_killed_once_everybody_was_told_nobody_is_told_again(self, site_with):
        site = site_with(**LEASES)
        site.reviewed(recipients=[ADA, BOB])
        site.restart()

        again = site.ask(recipients=[ADA, BOB])

        assert (again.status_code, again.json()["status"]) == (200, "succeeded")
        assert site.mail.told() == {ADA: 1, BOB: 1}


class TestTheFailureMatrix:
    def test_a_mail_that_was_taken_and_not_marked_is_marked_and_not_sent_again(self, site_with):
        site = site_with()
        site.mail.after = lambda _, number: FAILED if number == 1 else None

        review = site.reviewed(recipients=[ADA])

        assert review["status"] == "succeeded"
        assert site.mail.told() == {ADA: 1}

    def test_a_mark_without_a_mail_is_cleared_sent_again_and_told_to_operators(
        self, site_with, caplog
    ):
        site = site_with()
        review = site.reviewed(recipients=[ADA])
        site.mail.forget()
        site.mail.hold("POST")
        parts = build(site.variables)
        with Holdfast(
            site.variables["DATABASE_URL"], pipelines=parts.pipelines, providers=parts.providers
        ) as app:
            # What was marked a moment ago may not be known to the provider yet.
            told = eventually(
                lambda: app.deliveries.reconcile(since=timedelta(days=1)).sent_again,
                "the mark is taken back",
            )

        assert len(told) == 1
        back = site.review()
        assert back["status"] in {"retryable_failed", "in_progress"}
        assert back["deliveries"][0]["notified_at"] is None
        site.mail.release()
        assert site.ended()["status"] == "succeeded"
        assert site.mail.told() == {ADA: 1}
        events = site.http.get(f"/api/jobs/{review['job_id']}/events").json()["items"]
        assert [each["event"] for each in events][-2:] == [
            "delivery_taken_back",
            "delivery_sent_again",
        ]
        assert "ordering_broken" in {each.__dict__.get("event") for each in caplog.records}


class TestRequests:
    def test_two_hundred_requests_at_once_with_one_key_make_one_job(self, site_with):
        site = site_with()
        http = site.http
        body = {
            "changelist_id": "cl-1",
            "review_version": 1,
            "recipients": [ADA],
            "idempotency_key": "one",
        }

        with ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(lambda _: http.post("/api/reviews", json=body), range(200)))

        assert sorted({each.status_code for each in answers}) == [200, 201]
        assert sum(each.status_code == 201 for each in answers) == 1
        assert len({each.json()["job_id"] for each in answers}) == 1
        site.ended()
        assert site.mail.told() == {ADA: 1}

    def test_a_rerun_sends_anew_and_the_same_version_nothing(self, site_with):
        site = site_with()
        site.reviewed(review_version=3, recipients=[ADA])
        rerun = site.reviewed(review_version=4, recipients=[ADA], rerun=True)
        assert rerun["review_version"] == 4
        assert site.mail.told() == {ADA: 2}

        lower = site.ask(review_version=2, recipients=[ADA], rerun=True)
        prior = [
            site.ask(review_version=4, recipients=[ADA], rerun=again) for again in (False, True)
        ]

        assert lower.status_code == 409
        assert {(each.status_code, each.json()["job_id"]) for each in prior} == {
            (200, rerun["job_id"])
        }
        assert site.mail.told() == {ADA: 2}

    def test_the_key_of_a_review_makes_no_rerun(self, site_with):
        site = site_with()
        first = site.reviewed(review_version=3, recipients=[ADA], idempotency_key="one")

        again = site.ask(review_version=4, recipients=[ADA], idempotency_key="one", rerun=True)

        assert (again.status_code, again.json()["job_id"]) == (200, first["job_id"])
        assert again.json()["differs"] == ["review_version", "rerun"]
        assert site.mail.told() == {ADA: 1}
