"""What may be asked for with a file, and how fast files may come."""

from datetime import UTC, datetime

import pytest

from apps.converter.tests.http.conftest import OWN_TOKEN
from apps.converter.tests.system.stand_in import PDF_BYTES, make_converter

FAR = datetime.max.replace(tzinfo=UTC)


def send(client, body=PDF_BYTES, *, data=None, headers=None):
    return client.post(
        "/api/upload",
        data={"mapping": "text", **(data or {})},
        files={"file": ("invoice.pdf", body, "application/pdf")},
        headers=headers,
    )


def other_pdf(number: int) -> bytes:
    return PDF_BYTES + b"%d" % number


def refusal(answer):
    return answer.status_code, answer.json()["code"]


class TestWishes:
    """What may be asked for with a file: a callback, and a priority."""

    @pytest.mark.parametrize(
        "asked",
        [
            {"data": {"callback_url": "https://hooks.example.org/x"}},
            {"headers": {"X-Callback-Url": "https://hooks.example.org/x"}},
        ],
    )
    def test_a_callback_that_is_not_allowed_is_refused_and_leaves_nothing(
        self, visit, converter, asked
    ):
        answer = send(visit(), **asked)

        assert refusal(answer) == (400, "CALLBACK_REFUSED")
        assert answer.json()["detail"] == "This converter makes no callbacks."
        assert converter.app.jobs() == []
        assert list(converter.uploads.written_before(FAR)) == []

    def test_two_callbacks_are_one_too_many(self, visit):
        answer = send(
            visit(),
            data={"callback_url": "https://a.example.org"},
            headers={"X-Callback-Url": "https://b.example.org"},
        )

        assert refusal(answer) == (400, "malformed_request")

    @pytest.mark.parametrize(
        ("token", "priority", "stored"),
        [(None, None, 1), (None, "low", 2), (None, "Normal", 1), (OWN_TOKEN, "high", 0)],
    )
    def test_a_priority_is_that_of_the_job(self, visit, converter, token, priority, stored):
        answer = send(visit(token), data={} if priority is None else {"priority": priority})

        assert converter.app.job(answer.json()["id"]).job.priority == stored

    def test_high_priority_is_for_those_with_credentials(self, visit, converter):
        assert refusal(send(visit(), data={"priority": "high"})) == (403, "PRIORITY_REFUSED")
        assert converter.app.jobs() == []

    def test_what_is_no_priority_is_refused(self, visit):
        answer = send(visit(), data={"priority": "0"})

        assert refusal(answer) == (400, "malformed_request")
        assert "high, normal, low" in answer.json()["detail"]


class TestPace:
    """How many files one owner may send in a minute."""

    @pytest.fixture
    def converter(self, database_url, uploads, results):
        yield from make_converter(database_url, uploads, results, max_per_minute=2)

    def test_who_sends_too_fast_is_told_when_to_go_on(self, visit, converter):
        ada, bob = visit(), visit()
        assert [send(ada, other_pdf(number)).status_code for number in range(2)] == [201, 201]
        converter.app.clock.advance(20)

        answer = send(ada, other_pdf(3))

        assert refusal(answer) == (429, "TOO_MANY_UPLOADS")
        assert answer.headers["Retry-After"] == "40"
        assert "2 files in a minute are the limit" in answer.json()["detail"]
        assert send(bob, other_pdf(3)).status_code == 201
        converter.app.clock.advance(40)
        assert send(ada, other_pdf(3)).status_code == 201
