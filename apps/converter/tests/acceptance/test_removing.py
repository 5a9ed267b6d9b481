"""Conversions that their owner removes."""

from apps.converter.tests.acceptance.running import Held
from apps.converter.tests.acceptance.visitor import new_pdf, refusal
from apps.converter.tests.scripted_gateway import Reply


def files_of(site, job):
    """What is kept of a job: its source and its result."""
    kept = (site.folder / "uploads" / job["payload"]["source"], site.results / f"{job['id']}.xml")
    return [path for path in kept if path.exists()]


def test_one_that_is_complete_is_told_as_removed_and_not_as_expired(site):
    ada, pdf = site.visit(), new_pdf()
    job_id = ada.send_new(pdf)
    ada.ended(job_id)
    assert len(files_of(site, ada.job(job_id))) == 2

    assert ada.http.delete(f"/api/jobs/{job_id}").status_code == 204

    told = ada.conversion(job_id)
    assert (told["state"], told["says"]) == ("removed", "Removed.")
    assert (told["download"], told["can_retry"]) == (None, False)
    assert refusal(ada.download(job_id)) == (404, "EXPIRED")
    assert files_of(site, ada.job(job_id)) == []
    assert ada.send_new(pdf) != job_id


def test_one_that_is_under_way_is_cancelled_and_what_the_gateway_answers_is_not_kept(site):
    ada, pdf, held = site.visit(), new_pdf(), Held()
    site.will_get(pdf, Reply(body=held))
    job_id = ada.send_new(pdf)
    site.wait_for_calls(pdf, 1)

    assert ada.http.delete(f"/api/jobs/{job_id}").status_code == 204
    held.release()
    again = new_pdf()
    ada.ended(ada.send_new(again))

    told = ada.conversion(job_id)
    assert (told["state"], told["says"], told["download"]) == ("cancelled", "Removed.", None)
    assert refusal(ada.download(job_id)) == (404, "EXPIRED")
    assert [path.read_bytes() for path in files_of(site, ada.job(job_id))] == [b""]
    assert len(site.calls_for(pdf)) == 1
