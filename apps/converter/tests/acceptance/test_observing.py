"""What whoever runs the converter can see of it: metrics, log lines, and events as they happen."""

import json
import threading

import pytest

from apps.converter.tests.acceptance.figures import Figures, lines_about
from apps.converter.tests.acceptance.running import Held
from apps.converter.tests.acceptance.visitor import new_pdf
from apps.converter.tests.scripted_gateway import Reply
from tests.deployed.process import eventually

pytestmark = pytest.mark.timeout(240)

KNOBS = {"WORKER_CONCURRENCY": "1"}
FIELDS = {
    "event",
    "job_id",
    "status",
    "attempt",
    "duration_ms",
    "gateway_status",
    "error_code",
    "breaker",
}


@pytest.fixture
def told(site):
    """Looks at a metric until it says what is waited for."""

    def wait(expected, name, *, or_more=False, **labels):
        def look():
            figure = Figures(site.front.address).of(name, **labels)
            return figure == expected or (or_more and (figure or 0) >= expected)

        return eventually(look, f"{name} {labels} is {expected}")

    return wait


def was(site, name, **labels):
    return Figures(site.front.address).of(name, **labels) or 0


def test_every_conversion_is_counted_by_what_became_of_it(site, told):
    ada, flawed, refused = site.visit(), new_pdf(), new_pdf()
    site.will_get(flawed, Reply(status=502), Reply())
    site.will_get(refused, Reply(status=400), Reply())
    grows = [
        (3, "holdfast_jobs_created_total", {}),
        (2, "holdfast_jobs_completed_total", {}),
        (1, "jobs_failed_total", {"error_code": "GW_4XX"}),
        (1, "jobs_failed_total", {"error_code": "NOT_PDF"}),
        (1, "holdfast_retries_scheduled_total", {}),
        (1, "manual_retry_total", {}),
    ]
    before = [was(site, name, pipeline="convert", **labels) for _, name, labels in grows]

    jobs = [ada.send_new(pdf) for pdf in (flawed, refused)]
    no_pdf = ada.send(b"PK\x03\x04").json()["job_id"]
    for job_id in (*jobs, no_pdf):
        ada.ended(job_id)
    assert ada.retry(jobs[1]).status_code == 200
    assert ada.ended(jobs[1])["state"] == "complete"

    # What a test before this one did may be counted late, on top of that.
    for counted, (more, name, labels) in zip(before, grows, strict=True):
        told(counted + more, name, or_more=True, pipeline="convert", **labels)


def test_how_long_conversions_and_calls_of_the_gateway_take_is_told_by_buckets(site, told):
    ada = site.visit()
    names = ("job_processing_duration_seconds", "holdfast_upstream_call_seconds")
    labels = ({"pipeline": "convert", "outcome": "complete"}, {"upstream": "gateway"})
    before = [was(site, f"{name}_count", **each) for name, each in zip(names, labels, strict=True)]

    assert ada.ended(ada.send_new(new_pdf()))["state"] == "complete"

    for name, each, counted in zip(names, labels, before, strict=True):
        told(counted + 1, f"{name}_count", or_more=True, **each)
        told(counted + 1, f"{name}_bucket", or_more=True, le="+Inf", **each)


def test_what_is_under_way_and_what_waits_is_told_apart(site, told):
    ada, held = site.visit(), Held()
    files = [new_pdf() for _ in range(3)]
    for pdf in files:
        site.will_get(pdf, Reply(body=held))
    jobs = [ada.send_new(files[0])]
    site.wait_for_calls(files[0], 1)  # from here on the one place is taken
    jobs += [ada.send_new(pdf) for pdf in files[1:]]

    told(1, "jobs_active", queue="default")
    told(2, "queue_depth", queue="default")
    held.release()

    assert {ada.ended(job_id)["state"] for job_id in jobs} == {"complete"}
    told(0, "jobs_active", queue="default")
    told(0, "queue_depth", queue="default")


def test_every_step_of_a_conversion_is_a_line_with_all_fields(site):
    ada, flawed, refused = site.visit(), new_pdf(), new_pdf()
    site.will_get(flawed, Reply(status=502), Reply())
    site.will_get(refused, Reply(status=406))
    flawed_id, refused_id = ada.send_new(flawed), ada.send_new(refused)
    for job_id in (flawed_id, refused_id):
        ada.ended(job_id)

    def of(job_id, event):
        found = [line for line in lines_about(site.front, job_id) if line["event"] == event]
        return found[0] if found else None

    queued = eventually(lambda: of(flawed_id, "queued"), "that it was sent is logged")
    retried = eventually(lambda: of(flawed_id, "retry"), "the retry is logged")
    completed = eventually(lambda: of(flawed_id, "complete"), "the end is logged")
    failed = eventually(lambda: of(refused_id, "failed"), "the failure is logged")

    for line in (queued, retried, completed, failed):
        assert set(line) >= FIELDS
    for line in (retried, completed, failed):
        assert line["duration_ms"] > 0
        assert line["breaker"] == "closed"
    assert (retried["status"], retried["attempt"]) == ("queued", 1)
    assert (retried["error_code"], retried["gateway_status"]) == ("GW_5XX", 502)
    assert (completed["status"], completed["attempt"]) == ("complete", 2)
    assert (completed["error_code"], completed["gateway_status"]) == (None, 200)
    assert (failed["status"], failed["error_code"]) == ("failed", "GW_4XX")
    assert (failed["gateway_status"], failed["level"]) == (406, "error")
    begun = [line for line in lines_about(site.front, flawed_id) if line["event"] == "processing"]
    assert [line["attempt"] for line in begun] == [1, 2]
    assert all(set(line) >= FIELDS for line in begun)


def test_events_tell_every_transition_with_its_facts(site):
    ada, pdf = site.visit(), new_pdf()
    site.will_get(pdf, Reply(status=503), Reply(status=400))
    events, listening = [], threading.Event()

    def listen():
        with ada.http.stream("GET", "/api/stream?pipeline=convert", timeout=None) as stream:
            listening.set()
            for line in stream.iter_lines():
                name, _, rest = line.partition(": ")
                if name == "event":
                    events.append([rest, None])
                elif name == "data" and events:
                    events[-1][1] = json.loads(rest)
                    if events[-1][0] == "failed":
                        return

    ada.http.get("/api/conversions")  # where a walk-in gets the cookie that the stream needs
    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    assert listening.wait(30)
    job_id = ada.send_new(pdf)
    listener.join(30)

    told = [(name, data) for name, data in events if data and data.get("job_id") == job_id]
    names = [name for name, data in told if data["stage"] == "convert" or name == "queued"]
    assert names == ["queued", "processing", "retry", "processing", "failed"]
    facts = dict(told)
    for name, attempt, status, code in (("retry", 1, 503, "GW_5XX"), ("failed", 2, 400, "GW_4XX")):
        meta = facts[name]["meta"]
        assert facts[name]["attempt"] == meta["attempt"] == attempt
        assert (meta["gateway_http_status"], meta["error_code"]) == (status, code)
        assert meta["duration_ms"] > 0


def test_a_breaker_that_opens_is_logged_and_its_open_time_is_counted(site_with):
    site = site_with(
        CIRCUIT_WINDOW="4",
        CIRCUIT_COOLDOWN_MS="300",
        RETRY_MAX_ATTEMPTS="5",
        RETRY_BASE_DELAY_MS="50",
    )
    site.gateway.health = site.gateway.usual = Reply(status=503)
    ada = site.visit()
    jobs = [ada.send_new(new_pdf()) for _ in range(6)]

    def figure(name):
        return Figures(site.front.address).of(name, upstream="gateway")

    eventually(lambda: figure("holdfast_breaker_state"), "the breaker is told to be open")
    eventually(lambda: figure("holdfast_breaker_open_seconds_total"), "its open time is counted")
    site.gateway.usual, site.gateway.health = Reply(), Reply(body=b"{}")
    assert {ada.ended(job_id)["state"] for job_id in jobs} == {"complete"}
    eventually(lambda: figure("holdfast_breaker_state") == 0, "the breaker is told to be closed")

    lines = [json.loads(line) for line in site.front.said.splitlines() if line.startswith("{")]
    moves = [line for line in lines if line.get("upstream") == "gateway"]
    assert {"breaker_open", "breaker_closed"} <= {line["event"] for line in moves}
    assert {line["breaker"] for line in moves} >= {"open", "closed"}
