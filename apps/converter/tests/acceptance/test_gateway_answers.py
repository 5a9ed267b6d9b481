"""What becomes of a conversion when the gateway answers this or that."""

import pytest

from apps.converter.tests.acceptance.running import Held
from apps.converter.tests.acceptance.visitor import new_pdf, refusal
from apps.converter.tests.scripted_gateway import XML, Reply

KNOBS = {"RETRY_BASE_DELAY_MS": "100", "RETRY_JITTER_MAX_MS": "50"}


def test_a_pdf_becomes_xml_that_its_owner_fetches(site):
    ada, pdf = site.visit(), new_pdf()
    job_id = ada.send_new(pdf, mapping="layout")

    assert ada.ended(job_id)["state"] == "complete"
    assert ada.download(job_id).content == XML
    assert [(call.parameter("mapping"), call.body) for call in site.calls_for(pdf)] == [
        ("layout", pdf)
    ]


@pytest.mark.parametrize("status", [400, 406, 413, 415])
def test_a_refusal_of_the_gateway_is_final_after_one_call(site, status):
    ada, pdf = site.visit(), new_pdf()
    site.will_get(pdf, Reply(status=status, body=b'{"detail": "Unsupported mapping."}'))
    job_id = ada.send_new(pdf)

    told = ada.ended(job_id)

    assert (told["state"], told["error_code"]) == ("failed", "GW_4XX")
    assert told["error_message"] == (
        "Couldn’t convert this file with the selected mapping. Unsupported mapping."
    )
    assert len(site.calls_for(pdf)) == 1


def test_a_gateway_that_is_broken_for_a_moment_is_called_again(site):
    ada, pdf = site.visit(), new_pdf()
    site.will_get(pdf, Reply(status=502), Reply(cut="body"), Reply())
    job_id = ada.send_new(pdf)

    assert ada.ended(job_id)["state"] == "complete"
    assert len(site.calls_for(pdf)) == 3


def test_a_gateway_that_stays_broken_is_called_as_often_as_allowed(site):
    ada, pdf = site.visit(), new_pdf()
    site.will_get(pdf, Reply(status=502))
    job_id = ada.send_new(pdf)

    told = ada.ended(job_id)

    assert (told["state"], told["error_code"], told["attempt"]) == ("failed", "GW_5XX", 3)
    assert len(site.calls_for(pdf)) == 3


def test_the_time_that_a_gateway_asks_for_is_given_to_it(site):
    ada, pdf = site.visit(), new_pdf()
    site.will_get(pdf, Reply(status=429, headers={"Retry-After": "1"}), Reply())
    job_id = ada.send_new(pdf)

    assert ada.ended(job_id)["state"] == "complete"
    first, second = site.calls_for(pdf)
    assert second.started_at_s - first.started_at_s >= 1.0


def test_xml_is_not_ready_before_its_time_and_expired_after_it(site):
    ada, pdf, held = site.visit(), new_pdf(), Held()
    site.will_get(pdf, Reply(body=held))
    job_id = ada.send_new(pdf)
    site.wait_for_calls(pdf, 1)

    early = ada.download(job_id)
    held.release()
    ada.ended(job_id)
    in_time = ada.download(job_id)
    (site.results / f"{job_id}.xml").unlink()
    late = ada.download(job_id)

    assert refusal(early) == (409, "NOT_READY")
    assert (in_time.status_code, in_time.content) == (200, XML)
    assert refusal(late) == (404, "EXPIRED")
    assert ada.conversion(job_id)["download"] is None


def test_a_stranger_can_neither_fetch_retry_nor_remove(site):
    ada, eve, pdf = site.visit(), site.visit(), new_pdf()
    site.will_get(pdf, Reply(status=400), Reply())
    job_id = ada.send_new(pdf)
    ada.ended(job_id)

    assert refusal(eve.download(job_id)) == (403, "FORBIDDEN")
    assert refusal(eve.retry(job_id)) == (403, "FORBIDDEN")
    assert refusal(eve.http.delete(f"/api/jobs/{job_id}")) == (403, "FORBIDDEN")
    assert ada.conversion(job_id)["state"] == "failed"
    assert len(site.calls_for(pdf)) == 1


class TestManualRetry:
    def test_a_failed_conversion_that_its_owner_retries_is_completed(self, site):
        ada, pdf = site.visit(), new_pdf()
        site.will_get(pdf, Reply(status=400), Reply())
        job_id = ada.send_new(pdf)
        assert ada.ended(job_id)["can_retry"]

        answer = ada.retry(job_id)

        assert (answer.status_code, answer.json()["state"]) == (200, "queued")
        told = ada.ended(job_id)
        assert (told["state"], told["error_code"]) == ("complete", None)
        assert ada.download(job_id).content == XML
        assert ada.job(job_id)["retries"] == 1

    def test_one_that_did_not_fail_is_left_alone(self, site):
        ada, pdf = site.visit(), new_pdf()
        job_id = ada.send_new(pdf)
        ada.ended(job_id)

        assert ada.retry(job_id).status_code == 409
        assert len(site.calls_for(pdf)) == 1

    def test_without_its_file_it_is_refused(self, site):
        ada, pdf = site.visit(), new_pdf()
        site.will_get(pdf, Reply(status=400))
        job_id = ada.send_new(pdf)
        ada.ended(job_id)
        (site.folder / "uploads" / ada.job(job_id)["payload"]["source"]).unlink()

        assert not ada.conversion(job_id)["can_retry"]
        assert refusal(ada.retry(job_id)) == (409, "retry_refused")


def test_a_result_that_cannot_be_written_is_tried_once_more_then_an_io_error(site):
    ada, pdf, held = site.visit(), new_pdf(), Held()
    site.will_get(pdf, Reply(body=held))
    job_id = ada.send_new(pdf)
    site.wait_for_calls(pdf, 1)
    away = site.results.rename(site.folder / "away")
    try:
        site.results.write_text("in the way")
        held.release()
        told = ada.ended(job_id)
    finally:
        site.results.unlink()
        away.rename(site.results)

    assert (told["state"], told["error_code"], told["attempt"]) == ("failed", "IO_ERROR", 2)
    assert told["error_message"] == "Storage issue. Try again later."
    assert site.xml_of(job_id) == []

    ada.retry(job_id)
    assert ada.ended(job_id)["state"] == "complete"
