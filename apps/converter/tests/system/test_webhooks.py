"""Webhooks about conversions that have ended: each end is told once, whatever dies meanwhile."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from apps.converter.tests.system.stand_in import PDF_BYTES, QUICK, Converter, make_converter
from converter.callbacks import CallbackConfig
from converter.codes import CODES
from converter.gateway_failures import refusal
from converter.refusals import CallbackRefused
from converter.webhooks import OWNER, PIPELINE, Wanted
from holdfast import Holdfast, JobFilter, JobState
from holdfast.testing import drain, run_inline
from tests.bridges.fake_receiver import SECRET, ReceiverLedger
from tests.bridges.wire import FakeApi, Reply

LOCAL = CallbackConfig(hosts=("127.0.0.1",), secrets=(SECRET,), allow_private=True)
LINE = CODES.codes["GW_4XX"].message


@pytest.fixture
def ledger() -> ReceiverLedger:
    return ReceiverLedger()


@pytest.fixture
def receiver(ledger) -> Iterator[FakeApi]:
    with FakeApi(ledger.answer) as api:
        yield api


@pytest.fixture
def url(receiver) -> str:
    return f"{receiver.url}/hooks"


@pytest.fixture
def converter(database_url, uploads, results) -> Iterator[Converter]:
    yield from make_converter(database_url, uploads, results, callbacks=LOCAL)


@pytest.fixture
def conversions_alone(converter, database_url) -> Iterator[Holdfast]:
    """A process on the same database that converts, and knows nothing of webhooks."""
    [pipeline, _] = converter.app.pipelines.values()
    with Holdfast(database_url, pipelines=[pipeline], clock=converter.app.clock) as other:
        yield other


def told(ledger: ReceiverLedger) -> list[tuple[str, str | None]]:
    return [(each["data"]["status"], each["data"]["error_code"]) for each in ledger.handled]


def test_a_conversion_that_is_complete_is_told_signed_and_once(converter, ledger, url):
    job = converter.take(callback_url=url).job
    drain(converter.app)
    drain(converter.app)

    [hook] = ledger.handled
    assert hook["type"] == "conversion.complete"
    assert hook["data"] == {
        "id": job.id,
        "status": "complete",
        "error_code": None,
        "error_message": None,
    }
    assert hook["timestamp"] == converter.app.job(job.id).finished_at.isoformat()


def test_one_that_failed_is_told_with_its_code_and_line_and_nothing_else(converter, ledger, url):
    converter.gateway.plays.append(ValueError("/srv/secret: boom"))
    converter.gateway.plays.append(refusal(406, {}, b"/srv/secret"))
    job = converter.take(callback_url=url).job
    drain(converter.app)

    [hook] = ledger.handled
    assert hook["type"] == "conversion.failed"
    assert hook["data"]["status"] == "failed"
    assert hook["data"]["error_message"] == CODES.codes[hook["data"]["error_code"]].message
    assert hook["data"]["id"] == job.id
    assert "secret" not in str(hook)


def test_one_that_was_removed_is_told(converter, ledger, url):
    job = converter.take(callback_url=url).job
    converter.conversions.remove(job.id, owner="ada", by="ada")
    drain(converter.app)

    assert told(ledger) == [("cancelled", None)]


def test_every_end_is_told_of_one_that_is_retried(converter, ledger, url):
    converter.gateway.plays += [ConnectionError("no")] * QUICK.attempts
    job = converter.take(callback_url=url).job
    drain(converter.app)
    assert [status for status, _ in told(ledger)] == ["failed"]

    converter.conversions.retry(job.id, owner="ada", by="ada")
    drain(converter.app)
    converter.webhooks.chore()
    drain(converter.app)

    assert [status for status, _ in told(ledger)] == ["failed", "complete"]
    assert len(set(ledger.ids)) == 2


def test_an_end_that_a_retry_came_after_is_told_all_the_same(
    converter, conversions_alone, ledger, url
):
    converter.gateway.plays += [ConnectionError("no")] * QUICK.attempts
    job = converter.take(callback_url=url).job
    drain(conversions_alone)
    failed = converter.app.job(job.id)
    converter.conversions.retry(job.id, owner="ada", by="ada")
    drain(converter.app)
    converter.webhooks.chore()
    drain(converter.app)

    assert [status for status, _ in told(ledger)] == ["failed", "complete"]
    assert ledger.handled[0]["timestamp"] == failed.finished_at.isoformat()


def test_what_ended_while_no_process_sent_webhooks_is_told_later(
    converter, conversions_alone, ledger, url
):
    job = converter.take(callback_url=url).job
    drain(conversions_alone)
    assert converter.app.job(job.id).state is JobState.COMPLETE
    assert ledger.handled == []

    drain(converter.app)

    assert told(ledger) == [("complete", None)]


def test_a_long_conversion_is_waited_for_without_work_and_found_by_the_chore(
    converter, conversions_alone, ledger, url
):
    converter.app.upstreams.force_open("gateway", by="ada", reason="maintenance")
    job = converter.take(callback_url=url).job
    for _ in range(60):
        run_inline(converter.app)
        converter.app.clock.advance(10)
    [asked] = converter.app.jobs(JobFilter(pipeline=PIPELINE))
    assert (asked.state, asked.job.snoozes < 40) == (JobState.WAITING, True)
    converter.webhooks.chore()
    run_inline(converter.app)
    assert converter.app.job(asked.id).state is JobState.WAITING

    converter.app.upstreams.reset("gateway", by="ada")
    drain(conversions_alone)
    assert converter.app.job(job.id).state is JobState.COMPLETE
    converter.webhooks.chore()
    converter.webhooks.chore()
    drain(converter.app)

    assert told(ledger) == [("complete", None)]


def test_who_sends_a_file_that_is_there_already_is_told_of_its_conversion(
    converter, ledger, receiver
):
    first = converter.take()
    again = converter.take(callback_url=f"{receiver.url}/a")
    assert (again.created, again.job.id) == (False, first.job.id)
    drain(converter.app)
    assert told(ledger) == [("complete", None)]

    converter.take(callback_url=f"{receiver.url}/a")
    converter.take(callback_url=f"{receiver.url}/b")
    drain(converter.app)

    assert told(ledger) == [("complete", None)] * 2
    assert len(converter.gateway.calls) == 1


def test_a_receiver_that_fails_is_told_again_under_the_same_id(converter, receiver, ledger, url):
    receiver.answer = answers(Reply(500), Reply(503), then=ledger.answer)
    converter.take(callback_url=url)
    drain(converter.app)

    assert told(ledger) == [("complete", None)]
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1
    assert len(receiver.requests) == 3


def answers(*replies: Reply, then):
    left = list(replies)
    return lambda request: left.pop(0) if left else then(request)


def test_of_a_conversion_that_is_gone_nothing_is_told(converter, ledger, url):
    gone = Wanted(conversion="0197a3c0-0000-7000-8000-000000000000", url=url)
    converter.app.submit(PIPELINE, gone, owner=OWNER)
    drain(converter.app)

    assert ledger.handled == []
    assert converter.app.jobs(JobFilter(pipeline=PIPELINE))[0].state is JobState.COMPLETE


def test_requests_for_webhooks_are_in_no_list_of_an_owner(converter, url):
    job = converter.take(callback_url=url).job

    assert [view.id for view in converter.app.jobs(JobFilter(owner="ada"))] == [job.id]
    assert [view.job.owner for view in converter.app.jobs(JobFilter(pipeline=PIPELINE))] == [OWNER]


def test_a_name_that_leads_to_a_private_address_gets_nothing(database_url, uploads, results):
    public_only = CallbackConfig(hosts=("*",), secrets=(SECRET,))
    for converter in make_converter(database_url, uploads, results, callbacks=public_only):
        # As if the name had been public when it was asked for.
        converter.webhooks.ask(converter.take().job, "https://localhost/hook")
        drain(converter.app)
        [delivery] = converter.app.deliveries.find()

    assert delivery.state.value == "failed"
    assert "does not lead to a public address" in str(delivery.error)


def test_files_are_kept_whatever_becomes_of_webhooks(converter, receiver, url):
    receiver.answer = lambda _: Reply(410)
    job = converter.take(PDF_BYTES, callback_url=url).job
    drain(converter.app)

    assert converter.app.job(job.id).state is JobState.COMPLETE
    [delivery] = converter.app.deliveries.find()
    assert delivery.state.value == "failed"


@pytest.mark.parametrize(
    ("hosts", "url", "allowed"),
    [
        ((), "https://example.org/", False),
        (("example.org",), "https://example.org/hook?a=1", True),
        (("example.org",), "https://EXAMPLE.org./", True),
        (("example.org",), "https://example.org:8443/", True),
        (("example.org",), "https://hooks.example.org/", False),
        (("example.org",), "https://example.org.evil.net/", False),
        (("example.org",), "https://evil.net/?example.org", False),
        (("example.org",), "https://example.org@evil.net/", False),
        (("example.org",), "http://example.org/", False),
        (("*.example.org",), "https://hooks.example.org/", True),
        (("*.example.org",), "https://example.org/", False),
        (("*.example.org",), "https://evilexample.org/", False),
        (("*",), "https://example.org/", True),
        (("*",), "https://127.0.0.1/", False),
        (("*",), "https://10.0.0.5/", False),
        (("*",), "https://[::1]/", False),
        (("*",), "https://169.254.169.254/latest", False),
        (("*",), "https://localhost/", False),
        (("127.0.0.1",), "https://127.0.0.1/", False),
        (("*",), "ftp://example.org/", False),
        (("*",), "example.org", False),
        (("*",), "https://example.org/" + "x" * 250, False),
        (("*",), "https://exa mple.org/", False),
    ],
)
def test_callbacks_go_where_the_operator_allows_and_nowhere_private(hosts, url, allowed):
    config = CallbackConfig(hosts=hosts, secrets=(SECRET,))

    with nullcontext() if allowed else pytest.raises(CallbackRefused):
        config.check(url)


def test_private_addresses_are_allowed_where_the_operator_says_so():
    LOCAL.check("http://127.0.0.1:9/hook")
