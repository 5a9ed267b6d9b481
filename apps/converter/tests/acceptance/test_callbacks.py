"""Callbacks about conversions that have ended, from processes that are killed and started anew."""

import signal

from apps.converter.tests.acceptance.running import Held
from apps.converter.tests.acceptance.visitor import new_pdf
from apps.converter.tests.scripted_gateway import Reply
from tests.bridges.fake_receiver import SECRET, fake_receiver
from tests.deployed.process import OPERATOR, eventually

KNOBS = {
    "CALLBACK_HOSTS": "127.0.0.1",
    "CALLBACK_SECRET": SECRET,
    "CALLBACK_PRIVATE": "yes",
    "WORKER_LEASE_TTL_SEC": "1",
}


def send(visitor, body, url):
    return visitor.http.post(
        "/api/upload",
        data={"mapping": "text", "callback_url": url},
        files={"file": ("a.pdf", body, "application/pdf")},
    )


def test_each_end_is_told_once_although_the_process_is_killed_before_it(site_with):
    site = site_with(**KNOBS)
    ada, slow, bad = site.visit(OPERATOR), new_pdf(), new_pdf()
    held = Held()
    site.will_get(slow, Reply(body=held), Reply())
    site.will_get(bad, Reply(status=406))
    receiver, ledger = fake_receiver()
    with receiver:
        sent = [send(ada, pdf, f"{receiver.url}/hook").json()["id"] for pdf in (slow, bad)]
        site.wait_for_calls(slow, 1)
        site.front.send(signal.SIGKILL)
        site.front.ended()
        held.release()
        ada.http.base_url = site.start().address

        assert [ada.ended(job_id)["state"] for job_id in sent] == ["complete", "failed"]
        eventually(lambda: len(ledger.handled) >= 2, "both are told")

    told = {hook["data"]["id"]: hook["data"] for hook in ledger.handled}
    assert told[sent[0]]["status"] == "complete"
    assert (told[sent[1]]["status"], told[sent[1]]["error_code"]) == ("failed", "GW_4XX")
    assert told[sent[1]]["error_message"] == ada.conversion(sent[1])["error_message"]
    assert len(ledger.ids) == len(set(ledger.ids)) == 2


def test_where_no_host_is_allowed_a_callback_is_refused(site_with):
    ada = site_with().visit()

    answer = send(ada, new_pdf(), "https://hooks.example.org/x")

    assert (answer.status_code, answer.json()["code"]) == (400, "CALLBACK_REFUSED")
    assert ada.http.get("/api/conversions").json()["items"] == []
