"""What becomes of a job whose gateway is called over HTTP: its code, its line and its attempts."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import pytest

from apps.converter.tests.scripted_gateway import XML, Reply, ScriptedGateway
from converter.codes import CODES, told_of
from converter.gateway_client import GatewayClient
from converter.gateway_failures import GATEWAY_RULES
from converter.payload import Upload
from converter.pipeline import PIPELINE, conversion_pipeline, result_name
from converter.storage.contract import Storage
from holdfast import Breaker, Holdfast, JobView, Retry
from holdfast.testing import ManualClock, drain

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
        stored = self.uploads.put("source.pdf", [PDF])
        upload = Upload(
            source="source.pdf",
            filename="a.pdf",
            mapping="text",
            size=stored.size,
            sha256=stored.sha256,
        )
        job = self.app.submit(PIPELINE, asdict(upload), trace=trace)
        drain(self.app)
        return job.get()


@pytest.fixture
def timeout_s() -> float:
    return 20.0


@pytest.fixture
def site(database_url, uploads, results, timeout_s) -> Iterator[Site]:
    clock = ManualClock()
    with ScriptedGateway() as gateway:
        pipeline = conversion_pipeline(
            uploads=uploads,
            results=results,
            gateway=GatewayClient(gateway.url, timeout_s=timeout_s),
            timeout_s=timeout_s,
            retry=Retry(attempts=3, base=5, factor=2, cap=None, jitter="none"),
            breaker=Breaker(consecutive=100),
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
