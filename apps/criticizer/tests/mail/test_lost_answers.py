"""What becomes of a mail whose answer was lost, by what the mail service's own ledger says."""

import pytest

from apps.criticizer.tests.scripted import QUICK, made_criticizer
from holdfast import JobState
from holdfast.bridges.postmark import Postmark
from holdfast.bridges.smtp import Smtp
from holdfast.deliveries import DeliveryState
from tests.bridges import fake_postmark, wire
from tests.bridges.fake_mail_server import BreakingServer
from tests.classify.servers import LOOPBACK

ADA = "ada@example.org"


@pytest.fixture
def reviewed(database_url, tmp_path):
    """Reviews a change with mail through a provider; returns the job, and its one delivery."""

    def review(provider):
        with made_criticizer(database_url, tmp_path / "mail.jsonl", provider=provider) as made:
            job = made.reviewed(recipients=[ADA])
            (told,) = made.reviews.told([job])[job.id]
            return job, told

    return review


def test_postmark_is_asked_and_what_it_has_is_marked_and_not_sent_again(reviewed):
    api, ledger = fake_postmark.fake_postmark()

    def lose(connection):
        api.fault = None
        wire.resets(connection)

    api.fault, api.accepts_first = lose, True
    with api:
        job, told = reviewed(Postmark(fake_postmark.KEY, base_url=api.url, retry=QUICK))

    assert job.state is JobState.COMPLETE
    assert (told.state, told.delivery.notification_id) == (DeliveryState.SENT, *ledger.sent)
    assert [mail["To"] for mail in ledger.sent.values()] == [ADA]
    assert [request.method for request in api.requests].count("POST") == 1


def test_what_smtp_may_have_taken_is_sent_once_and_left_to_a_person(reviewed):
    server = BreakingServer("body", lambda connection: connection.reset())
    with server.serving() as served:
        job, told = reviewed(Smtp(LOOPBACK, served.port, security="none", retry=QUICK))

    assert told.state is DeliveryState.UNKNOWN
    assert job.state is JobState.FAILED
    assert sum(line.lower().startswith(b"to:") for line in server.messages) == 1
