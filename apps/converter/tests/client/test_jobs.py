"""What becomes of a job whose gateway is called over HTTP: its code, its line and its attempts."""

from collections.abc import Iterator
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
def site(database_url, uploads, results, timeout_s, breaker) -> Iterator[Site]:
    clock = ManualClock()
    with ScriptedGateway() as gateway:
        pipeline = conversion_pipeline(
            uploads=uploads,
            results=results,
            gateway=GatewayClient(gateway.url, timeout_s=timeout_s),
            timeout_s=timeout_s,
            retry=Retry(attempts=3, base=5, factor=2, cap=None, jitter="none"),
            breaker=breaker,
            rules=GATEWAY_RULES,
        )
        with Holdfast(database_url, pipelines=[pipeline], clock=clock) as app:
            yield Site(app, clock, gateway, uploads, results)


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
    assert told_of(job.error).message == CODES.codes[code].message


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
