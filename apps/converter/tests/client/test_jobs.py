"""What becomes of a job whose gateway is called over HTTP: its code, its line and its attempts."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass

import pytest

from apps.converter.tests.scripted_gateway import XML, Reply, ScriptedGateway
from converter.codes import CODES, told_of
from converter.gateway_client import GatewayClient
from converter.gateway_failures import GATEWAY_RULES
from converter.payload import Upload
from converter.pipeline import PIPELINE, conversion_pipeline
from converter.presentation import result_name
from converter.storage.contract import Storage
from holdfast import Breaker, Holdfast, JobHandle, JobView, Retry
from holdfast.testing import ManualClock, drain, run_inline

PDF = b"%PDF-1.7\n" + b"0123456789" * 20


@dataclass
class Site:
    app: Holdfast
    clock: ManualClock
    gateway: ScriptedGateway
    uploads: Storage
    results: Storage

    def converted(self, *script: Reply, trace: str | None = None) -> JobView:
        """Have a PDF converted by a gateway that answers like this, and return the ended job."""
        self.gateway.then(*script)
        job = self.sent(trace=trace)
        drain(self.app)
        return job.get()

    def sent(self, *, trace: str | None = None) -> JobHandle:
        """Have a PDF converted when a worker runs."""
        stored = self.uploads.put("source.pdf", [PDF])
        upload = Upload(
            source="source.pdf",
            filename="a.pdf",
            mapping="text",
            size=stored.size,
            sha256=stored.sha256,
        )
        return self.app.submit(PIPELINE, asdict(upload), trace=trace)


@pytest.fixture
def timeout_s() -> float:
    return 20.0


@pytest.fixture
def breaker() -> Breaker:
    return Breaker(consecutive=100)


@pytest.fixture
def holds() -> bool:
    return True


@pytest.fixture
def gateway() -> Iterator[ScriptedGateway]:
    with ScriptedGateway() as serving:
        yield serving


@pytest.fixture
def client(gateway, timeout_s, holds) -> GatewayClient:
    return GatewayClient(gateway.url, timeout_s=timeout_s, holds=holds)


@pytest.fixture
def storages(uploads, results) -> tuple[Storage, Storage]:
    return uploads, results


@pytest.fixture
def open_app(database_url, storages, breaker) -> Iterator[Callable[..., Holdfast]]:
    """Opens apps on the test's database that convert by a client."""
    uploads, results = storages
    with ExitStack() as opened:

        def open_one(client: GatewayClient, clock: ManualClock) -> Holdfast:
            pipeline = conversion_pipeline(
                uploads=uploads,
                results=results,
                gateway=client,
                timeout_s=20.0,
                retry=Retry(attempts=3, base=5, factor=2, cap=None, jitter="none"),
                breaker=breaker,
                rules=GATEWAY_RULES,
            )
            return opened.enter_context(Holdfast(database_url, pipelines=[pipeline], clock=clock))

        yield open_one


@pytest.fixture
def site(open_app, client, gateway, storages) -> Site:
    clock = ManualClock()
    return Site(open_app(client, clock), clock, gateway, *storages)


def told(job: JobView) -> str:
    assert job.error is not None
    return told_of(job.error).code


def test_the_xml_of_a_gateway_is_kept_as_the_result_of_the_job(site):
    job = site.converted()

    assert job.state == "complete"
    with site.results.open(result_name(job.id)) as reading:
        assert b"".join(reading) == XML


@pytest.mark.parametrize("status", [400, 406, 413, 415])
def test_a_refusal_fails_the_job_at_the_first_attempt(site, status):
    job = site.converted(Reply(status=status, body=b"Unsupported mapping."))

    assert (job.state, told(job), len(site.gateway.calls)) == ("failed", "GW_4XX", 1)
    assert told_of(job.error).message.endswith("with the selected mapping. Unsupported mapping.")


@pytest.mark.parametrize(
    ("reply", "code", "timeout_s"),
    [
        (Reply(status=502), "GW_5XX", 20.0),
        (Reply(cut="body"), "GW_5XX", 20.0),
        (Reply(body=b"no xml"), "GW_5XX", 20.0),
        (Reply(delay_s=30.0), "GW_TIMEOUT", 0.5),
    ],
)
def test_a_failing_gateway_is_called_three_times_then_the_job_fails(site, reply, code):
    job = site.converted(reply, reply, reply)

    assert (job.state, told(job), len(site.gateway.calls)) == ("failed", code, 3)
    assert told_of(job.error).message == CODES.codes[code].final_message


def test_a_gateway_that_recovers_completes_the_job(site):
    job = site.converted(Reply(status=503), Reply(cut="before"))

    assert job.state == "complete"
    assert len(site.gateway.calls) == 3


def test_a_gateway_that_asks_to_wait_is_waited_for(site):
    began = site.clock.now()

    job = site.converted(Reply(status=429, headers={"Retry-After": "90"}))

    assert job.state == "complete"
    assert site.clock.now() - began >= 90_000_000


def test_the_trace_of_a_job_reaches_the_gateway(site):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    site.converted(trace=trace)

    assert site.gateway.calls[0].headers["traceparent"].split("-")[1] == trace.split("-")[1]


@pytest.mark.parametrize("status", [401, 403, 404, 405])
def test_a_wrong_address_or_credential_fails_no_file_and_spends_no_attempt(site, status):
    site.gateway.usual = Reply(status=status)
    job = site.sent()
    for _ in range(10):
        run_inline(site.app)
        site.clock.advance(300)

    assert (job.get().state, job.get().error, len(site.gateway.calls)) == ("queued", None, 10)
    assert {line.attempt for line in site.app.attempts(job.id)} == {1}

    site.gateway.usual = Reply(status=503)
    run_inline(site.app)
    site.gateway.usual = Reply()
    drain(site.app)
    assert (job.get().state, job.get().job.attempt) == ("complete", 2)


@pytest.mark.parametrize(
    "breaker", [Breaker(failure_rate=0.5, over_calls=20, minimum_workers=1, cooldown=30)]
)
def test_it_opens_the_breaker_and_the_files_go_on_by_themselves_once_it_is_mended(site):
    site.gateway.usual = site.gateway.health = Reply(status=404)
    jobs = [site.sent() for _ in range(30)]
    run_inline(site.app)
    called = len(site.gateway.calls)
    [upstream] = site.app.upstreams.list()

    assert upstream.gate.value == "open"
    assert 20 <= called <= 30
    site.clock.advance(29)
    run_inline(site.app)
    assert len(site.gateway.calls) == called
    assert {job.get().state for job in jobs} == {"queued"}

    site.gateway.usual = site.gateway.health = Reply()
    drain(site.app)

    assert {job.get().state for job in jobs} == {"complete"}


AWAY = {
    "refuses connections": None,
    "answers 503": Reply(status=503),
    "cuts connections": Reply(cut="before"),
    "hangs": Reply(delay_s=30.0),
}


@pytest.mark.parametrize("timeout_s", [0.3])
@pytest.mark.parametrize("how", AWAY)
def test_no_file_fails_while_the_gateway_is_away_from_the_first_on(site, how, open_app):
    reply = AWAY[how]
    if reply is None:
        site.gateway.down()
    else:
        site.gateway.usual = site.gateway.health = reply
    job = site.sent()
    for _ in range(5):
        run_inline(site.app)
        site.clock.advance(300)

    assert (job.get().state, job.get().error) == ("queued", None)
    assert {line.attempt for line in site.app.attempts(job.id)} == {1}
    assert site.app.verify() == []

    if reply is None:
        site.gateway.up()
    site.gateway.usual, site.gateway.health = Reply(), Reply(body=b"{}")
    # Another worker: one that hangs up after 0.3 s may find an answer on a busy machine too late.
    drain(open_app(GatewayClient(site.gateway.url, timeout_s=20.0), site.clock))
    assert (job.get().state, job.get().job.attempt) == ("complete", 1)


@pytest.mark.parametrize(
    "breaker", [Breaker(failure_rate=0.5, over_calls=20, consecutive=3, minimum_workers=1)]
)
def test_failures_in_a_row_of_one_file_open_the_breaker_and_a_probe_closes_it(site):
    site.gateway.down()
    job = site.sent()
    for _ in range(3):
        run_inline(site.app)
        site.clock.advance(60)
    [upstream] = site.app.upstreams.list()

    assert upstream.gate.value == "open"

    site.gateway.up()
    drain(site.app)
    assert job.get().state == "complete"
    assert site.app.upstreams.list()[0].gate.value == "closed"


@pytest.mark.parametrize("holds", [False])
def test_where_files_are_not_held_a_gateway_that_is_away_spends_their_attempts(site):
    site.gateway.down()
    job = site.sent()
    drain(site.app)

    assert (job.get().state, told(job.get()), job.get().job.attempt) == ("failed", "GW_5XX", 3)


@pytest.mark.parametrize(
    ("code", "error_class"),
    [("pdf_encrypted", "PDF_ENCRYPTED"), ("mapping_unknown", "INVALID_MAPPING")],
)
def test_a_mistake_of_the_sender_calls_no_operator(site, code, error_class):
    body = json.dumps({"code": code, "detail": "It cannot be read."}).encode()
    job = site.converted(Reply(status=400, body=body))

    assert (job.state, told(job), job.job.error_class) == ("failed", "GW_4XX", error_class)
    assert told_of(job.error).message.endswith("It cannot be read.")
    assert site.app.dead.find() == []
    assert site.app.verify() == []


def test_a_refusal_that_nobody_knows_still_waits_for_an_operator(site):
    site.converted(Reply(status=400, body=b'{"code": "odd", "detail": "No."}'))

    assert [view.letter.error_class for view in site.app.dead.find()] == ["GW_4XX"]
