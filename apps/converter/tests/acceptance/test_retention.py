"""Files that have been kept for as long as they may be."""

import time

from apps.converter.tests.acceptance.visitor import new_pdf, refusal
from apps.converter.tests.scripted_gateway import Reply
from tests.deployed.process import eventually

DAY_S = 24 * 3600
KEPT_S = 5


def test_what_retention_removed_is_expired_and_the_file_can_be_sent_anew(site_with):
    site = site_with(RETENTION_DAYS=f"{KEPT_S / DAY_S:.9f}")
    ada, pdf, failing = site.visit(), new_pdf(), new_pdf()
    site.will_get(failing, Reply(status=400))
    job_id, failed_id = ada.send_new(pdf), ada.send_new(failing)
    assert ada.ended(job_id)["state"] == "complete"
    assert ada.ended(failed_id)["can_retry"]
    files = [*site.results.iterdir(), *(site.folder / "uploads").iterdir()]
    written_s = max(path.stat().st_mtime for path in files)

    eventually(lambda: time.time() > written_s + KEPT_S, "the files are old enough")
    site.start()  # a worker looks for old files when it starts, then about once a minute
    eventually(lambda: ada.download(job_id).status_code != 200, "the XML is removed")
    eventually(lambda: not ada.conversion(failed_id)["can_retry"], "the source is removed")

    assert refusal(ada.download(job_id)) == (404, "EXPIRED")
    assert [event["event"] for event in ada.events(job_id)][-2:] == ["complete", "expired"]
    told = ada.conversion(job_id)
    assert (told["state"], told["download"]) == ("expired", None)
    assert told["says"] == "File was removed by retention. Re-upload to regenerate."
    assert refusal(ada.retry(failed_id)) == (409, "retry_refused")
    assert ada.send_new(pdf) != job_id
