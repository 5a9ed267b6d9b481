"""A gateway that is down, in both modes of the breaker, and its recovery."""

import signal

from apps.converter.tests.acceptance.visitor import Visitor, new_pdf
from apps.converter.tests.scripted_gateway import XML, Reply
from tests.deployed.process import OPERATOR, eventually

KNOBS = {"CIRCUIT_WINDOW": "4", "CIRCUIT_COOLDOWN_MS": "300", "RETRY_BASE_DELAY_MS": "100"}
FILES = 6


def test_held_conversions_stay_queued_and_are_drained_once_the_gateway_is_back(site_with):
    site = site_with(**KNOBS, CIRCUIT_MODE="hold")
    site.gateway.health = site.gateway.usual = Reply(status=503)
    ada = site.visit()
    jobs = [ada.send_new(new_pdf()) for _ in range(FILES)]

    eventually(lambda: ada.is_paused, "the breaker opens")
    called = len(site.gateway.calls)
    probed = len(site.gateway.probes)
    eventually(lambda: len(site.gateway.probes) >= probed + 3, "it is probed again and again")
    late = ada.send_new(new_pdf())

    assert ada.is_paused
    assert {ada.conversion(job_id)["state"] for job_id in [*jobs, late]} == {"queued"}
    # Calls that were under way when it opened may still have come in.
    assert called <= len(site.gateway.calls) <= FILES + 3

    site.gateway.usual, site.gateway.health = Reply(), Reply(body=b"{}")

    assert {ada.ended(job_id)["state"] for job_id in [*jobs, late]} == {"complete"}
    assert {ada.download(job_id).content for job_id in [*jobs, late]} == {XML}
    eventually(lambda: not ada.is_paused, "the breaker closes")


def test_a_single_file_outlasts_a_gateway_that_is_away_with_more_attempts_than_it_has(site_with):
    site = site_with(CIRCUIT_COOLDOWN_MS="300", RETRY_BASE_DELAY_MS="100", RETRY_MAX_ATTEMPTS="2")
    site.gateway.down()
    ada = site.visit()
    job_id = ada.send_new(new_pdf())

    def retries() -> int:
        return sum(event["event"] == "retry" for event in ada.events(job_id))

    eventually(lambda: retries() >= 3, "it is tried more often than it has attempts")
    assert ada.conversion(job_id)["state"] == "queued"
    assert ada.conversion(job_id)["error_message"] is None

    site.gateway.up()
    assert ada.ended(job_id)["state"] == "complete"
    assert ada.conversion(job_id)["attempt"] == 1


def test_failing_fast_says_so_at_once_and_a_retry_succeeds_once_the_gateway_is_back(site_with):
    site = site_with(**KNOBS, CIRCUIT_MODE="fail-fast", RETRY_MAX_ATTEMPTS="2")
    site.gateway.down()
    ada = site.visit()
    jobs = [ada.send_new(new_pdf()) for _ in range(FILES)]
    for job_id in jobs:
        told = ada.ended(job_id)
        assert (told["state"], told["error_code"]) == ("failed", "GW_5XX")
    eventually(lambda: ada.is_paused, "the breaker is open")

    late = ada.send_new(new_pdf())

    told = ada.ended(late)
    assert (told["state"], told["error_code"]) == ("failed", "GW_5XX")
    assert ada.job(late)["error"]["error_class"] == "GW_5XX"
    assert site.visit(OPERATOR).job(late)["error"]["error_class"] == "CIRCUIT_OPEN"

    site.gateway.up()
    eventually(lambda: not ada.is_paused, "the breaker closes")
    for job_id in [*jobs, late]:
        assert ada.retry(job_id).status_code == 200
    assert {ada.ended(job_id)["state"] for job_id in [*jobs, late]} == {"complete"}


def test_a_wrong_address_fails_no_file_and_all_go_on_once_it_is_mended(site_with):
    # The delay doubles with every trial, and a slow machine leaves time for many.
    knobs = {**KNOBS, "RETRY_BASE_DELAY_MS": "1"}
    site = site_with(**knobs, RETRY_MAX_ATTEMPTS="2")
    stop(site.front)
    site.gateway.answer = lambda call: Reply(status=200 if call.path == "/convert" else 404)
    wrong = site.start(GATEWAY_URL=f"{site.gateway.url}/elsewhere", HOLDFAST_LOG_FORMAT="json")
    with Visitor(wrong.address) as ada:
        jobs = [ada.send_new(new_pdf()) for _ in range(FILES)]
        eventually(lambda: ada.is_paused, "the breaker opens")
        eventually(lambda: '"alert": "blocked"' in wrong.said, "there is an alert")

        assert "there is no POST /convert where GATEWAY_URL leads" in wrong.said
        shown = [ada.conversion(job_id) for job_id in jobs]
        assert {each["state"] for each in shown} <= {"queued", "processing"}
        assert {each["error_code"] for each in shown} == {None}
        stop(wrong)

        ada.http.base_url = site.start().address
        # The pause doubles with every trial in vain; an operator who has mended it need not wait.
        with Visitor(str(ada.http.base_url), OPERATOR) as operator:
            mended = {"action": "reset", "reason": "the address was wrong"}
            assert operator.http.post("/api/upstreams/gateway/breaker", json=mended).is_success
        assert {ada.ended(job_id)["state"] for job_id in jobs} == {"complete"}


def stop(process):
    process.send(signal.SIGTERM)
    process.ended()
