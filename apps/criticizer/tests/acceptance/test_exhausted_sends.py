"""A `notify` that has used up its sends: the letter says what happened, and a replay goes on."""

import pytest

from tests.deployed.process import eventually
from tests.deployed.scripted_server import json_reply

ADA, BOB = "ada@example.org", "bob@example.org"
IN_DOUBT = json_reply({"name": "service_unavailable", "message": "come back later"}, status=503)
REFUSED = json_reply({"name": "rate_limit_exceeded", "message": "too fast"}, status=429)
SPENT = json_reply({"name": "daily_quota_exceeded", "message": "100 a day"}, status=429)
OUTAGES = {
    "in doubt": (IN_DOUBT, "UPSTREAM_5XX", "unknown"),
    "refused": (REFUSED, "RATE_LIMITED", "failed"),
}


def down_for(site, reply, *, to: str = ADA, sends: int = 5) -> None:
    """Let the next sends to a recipient fail, and take everything after them."""
    so_far = site.mail.sends.count(to)
    site.mail.before = lambda mail, number: (
        reply if to in mail["to"] and number <= so_far + sends else None
    )


@pytest.mark.parametrize("outage", OUTAGES)
class TestTheLetter:
    def test_five_sends_are_a_dead_letter_that_says_so(self, site_with, outage):
        reply, error_class, became = OUTAGES[outage]
        site = site_with()
        down_for(site, reply)
        review = site.reviewed(recipients=[ADA, BOB])

        assert (review["status"], review["stage"]) == ("dead_lettered", "notify")
        assert [each["status"] for each in review["deliveries"]] == [became, "sent"]
        letter = site.letter(review)
        assert (letter["error_class"], letter["stage"], letter["attempts"]) == (
            error_class,
            "notify",
            5,
        )
        assert (letter["retryable"], letter["escalated"]) == (True, False)
        assert letter["first_failure_at"] < letter["last_failure_at"]
        assert letter["http_status"] == reply.status
        assert "1 of 2 required recipients were not reached" in letter["message"]
        assert [each["attempts"] for each in letter["deliveries"]] == [5, 1]
        assert ADA not in str(letter)
        assert "dead letter" in site.http.get("/").text
        assert "Everything is well" not in site.http.get("/").text

    def test_every_send_is_in_the_log_of_the_delivery(self, site_with, outage):
        reply, error_class, _ = OUTAGES[outage]
        site = site_with()
        down_for(site, reply)
        review = site.reviewed(recipients=[ADA])

        (row,) = review["deliveries"]
        log = site.http.get(f"/api/deliveries/{row['delivery_id']}").json()["log"]
        assert [line["attempt"] for line in log] == [1, 2, 3, 4, 5]
        assert {line["http_status"] for line in log} == {reply.status}
        assert {line["error_class"] for line in log} == {error_class}

    def test_a_replay_tells_who_was_not_told_and_nobody_twice(self, site_with, outage):
        reply, _, _ = OUTAGES[outage]
        site = site_with()
        down_for(site, reply)
        failed = site.reviewed(recipients=[ADA, BOB])
        calls = len(site.llm.calls)

        assert site.replay(failed).status_code == 200

        assert site.ended()["status"] == "succeeded"
        assert site.mail.told() == {ADA: 1, BOB: 1}
        assert site.mail.sends.count(BOB) == 1
        assert len(site.llm.calls) == calls, "what was paid for is not paid again"

    def test_a_second_outage_is_another_failure_and_no_escalation(self, site_with, outage):
        reply, _, _ = OUTAGES[outage]
        site = site_with()
        down_for(site, reply)
        failed = site.reviewed(recipients=[ADA])
        first = site.letter(failed)
        down_for(site, reply)
        assert site.replay(failed).status_code == 200
        eventually(lambda: site.letter(failed)["deaths"] == 2, "it fails again")

        letter = site.letter(failed)
        assert (letter["attempts"], letter["escalated"]) == (5, False)
        assert letter["first_failure_at"] > first["last_failure_at"]


def test_a_quota_of_the_day_is_waited_for_and_an_operator_need_not_wait(site_with):
    site = site_with()
    down_for(site, SPENT, sends=1)
    made = site.ask(recipients=[ADA]).json()

    def waits():
        found = site.review()
        return found if found["status"] == "retryable_failed" else None

    review = eventually(waits, "the quota is used up")
    (row,) = review["deliveries"]
    delivery = site.http.get(f"/api/deliveries/{row['delivery_id']}").json()
    assert (row["status"], row["error_class"]) == ("pending", "QUOTA_EXCEEDED")
    assert (delivery["attempts"], delivery["run_at"][11:15]) == (0, "00:0")
    assert site.http.get(f"/api/dead-letters/{made['job_id']}").status_code == 404

    said = {"word": "resend", "reason": "the plan was upgraded"}
    resolved = site.http.post(f"/api/deliveries/{row['delivery_id']}/resolve", json=said)

    assert resolved.status_code == 200
    assert site.ended()["status"] == "succeeded"
    assert site.mail.told() == {ADA: 1}
