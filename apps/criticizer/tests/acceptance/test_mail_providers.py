"""Reviews told by Postmark and by SMTP, judged by what those servers say they have taken."""

import threading
from collections import Counter
from email.message import EmailMessage

import pytest

from tests.bridges import fake_postmark
from tests.bridges.fake_mail_server import (
    PASSWORD,
    USERNAME,
    BreakingServer,
    MailLedger,
    mail_server,
)
from tests.classify.servers import LOOPBACK
from tests.deployed.process import eventually

ADA, BOB = "ada@example.org", "bob@example.org"


class Once(dict):
    """Replies that are each given once."""

    def __getitem__(self, step):
        return self.pop(step)


@pytest.fixture
def postmark():
    """Postmark's API, and its ledger."""
    api, ledger = fake_postmark.fake_postmark()
    with api:
        yield api, ledger


@pytest.fixture
def by_postmark(site_with, postmark):
    api, _ = postmark
    return site_with(
        MAIL_PROVIDER="postmark",
        POSTMARK_API_URL=api.url,
        POSTMARK_SERVER_TOKEN=fake_postmark.KEY,
    )


@pytest.fixture
def smtp():
    """The ledger of a real mail server, and its port."""
    ledger = MailLedger()
    with mail_server(ledger) as port:
        yield ledger, port


@pytest.fixture
def by_smtp(site_with, smtp):
    _, port = smtp
    address = f"smtp+plain://{USERNAME}:{PASSWORD}@{LOOPBACK}:{port}"
    return site_with(MAIL_PROVIDER="smtp", SMTP_URL=address)


def statuses(review):
    return [each["status"] for each in review["deliveries"]]


class TestPostmark:
    def test_everyone_is_told_once_with_the_findings(self, by_postmark, postmark):
        _, ledger = postmark
        review = by_postmark.reviewed(recipients=[ADA, BOB])

        assert review["status"] == "succeeded"
        assert Counter(mail["To"] for mail in ledger.sent.values()) == {ADA: 1, BOB: 1}
        told = {each["notification_id"] for each in review["deliveries"]}
        assert told == set(ledger.sent)
        for mail in ledger.sent.values():
            assert mail["From"] == "Reviews <reviews@example.org>"
            assert "Fine, but for a loop." in mail["TextBody"]
            assert "Fine, but for a loop." in mail["HtmlBody"]

    def test_a_lost_answer_is_found_within_seconds_and_nothing_is_sent_again(
        self, by_postmark, postmark
    ):
        api, ledger = postmark

        def loses(connection):
            api.fault = None
            connection.reset()

        api.fault, api.accepts_first = loses, True
        review = by_postmark.reviewed(recipients=[ADA])

        assert review["status"] == "succeeded"
        assert review["deliveries"][0]["notification_id"] in ledger.sent
        assert [mail["To"] for mail in ledger.sent.values()] == [ADA]

    def test_killed_between_send_and_mark_its_mail_is_found_once_its_lease_is_over(
        self, site_with, postmark
    ):
        api, ledger = postmark
        site = site_with(
            MAIL_PROVIDER="postmark",
            POSTMARK_API_URL=api.url,
            POSTMARK_SERVER_TOKEN=fake_postmark.KEY,
            WORKER_LEASE_TTL_SEC="4",
        )
        killed = threading.Event()

        def hangs(_connection):
            api.fault = None
            killed.wait(60)

        api.fault, api.accepts_first = hangs, True
        site.ask(recipients=[ADA])
        eventually(lambda: len(ledger.sent), "the mail is taken")
        site.restart()
        review = site.ended()
        killed.set()

        assert review["status"] == "succeeded"
        assert [mail["To"] for mail in ledger.sent.values()] == [ADA]

    def test_an_address_that_postmark_refuses_fails_alone(self, by_postmark, postmark):
        _, ledger = postmark
        review = by_postmark.reviewed(recipients=[fake_postmark.INACTIVE, ADA])

        assert (review["status"], review["stage"]) == ("dead_lettered", "notify")
        assert statuses(review) == ["failed", "sent"]
        assert [mail["To"] for mail in ledger.sent.values()] == [ADA]


class TestSmtp:
    def test_an_answer_that_is_lost_is_a_dead_letter_until_somebody_decides(self, site_with):
        breaking = BreakingServer("body", lambda connection: connection.reset())
        with breaking.serving() as server:
            site = site_with(
                MAIL_PROVIDER="smtp", SMTP_URL=f"smtp+plain://{LOOPBACK}:{server.port}"
            )
            failed = site.reviewed(recipients=[ADA])
            refused = site.replay(failed)
            (row,) = failed["deliveries"]
            said = {"word": "sent", "reason": "in the log of the mail server"}
            site.http.post(f"/api/deliveries/{row['delivery_id']}/resolve", json=said)
            replayed = site.act(failed, "replay")

            assert (failed["status"], row["status"]) == ("dead_lettered", "unknown")
            assert site.letter(failed)["outcome_known"] is False
            assert (refused.status_code, refused.json()["missing"]) == (409, "deliveries")
            assert replayed.status_code == 200
            assert site.ended()["status"] == "succeeded"
            assert server.connections == 1

    def test_everyone_is_told_once_with_the_findings(self, by_smtp, smtp):
        ledger, _ = smtp
        review = by_smtp.reviewed(recipients=[ADA, BOB])

        assert review["status"] == "succeeded"
        assert statuses(review) == ["sent", "sent"]
        assert Counter(to for _, to, _ in ledger.accepted) == {ADA: 1, BOB: 1}
        assert set(ledger.logins) == {PASSWORD.encode()}
        for sender, to, mail in ledger.accepted:
            assert (sender, mail["To"]) == ("reviews@example.org", to)
            assert "Fine, but for a loop." in text_of(mail, "plain")
            assert "Fine, but for a loop." in text_of(mail, "html")

    def test_a_server_that_is_busy_gets_the_mail_again_and_takes_it_once(self, by_smtp, smtp):
        ledger, _ = smtp
        ledger.replies = Once({ADA: "451 4.3.0 come back later"})
        review = by_smtp.reviewed(recipients=[ADA])

        assert review["status"] == "succeeded"
        assert [to for _, to, _ in ledger.accepted] == [ADA]
        assert review["deliveries"][0]["attempts"] == 2

    def test_an_address_that_is_refused_fails_alone(self, by_smtp, smtp):
        ledger, _ = smtp
        ledger.replies[BOB] = "550 5.1.1 no such user"
        review = by_smtp.reviewed(recipients=[BOB, ADA])

        assert (review["status"], review["stage"]) == ("dead_lettered", "notify")
        assert statuses(review) == ["failed", "sent"]
        assert [to for _, to, _ in ledger.accepted] == [ADA]


def text_of(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part is not None
    return part.get_content()
