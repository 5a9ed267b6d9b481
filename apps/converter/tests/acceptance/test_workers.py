"""Workers that are killed, stopped, told to end, or kept waiting, while a conversion runs."""

import signal
from datetime import datetime

import pytest

from apps.converter.tests.acceptance.running import Held
from apps.converter.tests.acceptance.visitor import new_pdf
from apps.converter.tests.scripted_gateway import XML, Reply
from tests.deployed.process import eventually

LEASE_S = 1.0
ARGUMENTS = ("--no-worker",)
KNOBS = {"WORKER_LEASE_TTL_SEC": "1"}


@pytest.fixture
def worker(site):
    """Starts workers, each a process of its own, which end with the test."""
    started = []

    def start(*arguments):
        process = site.start(*arguments)
        assert process.address  # it listens, so it works as well
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


def under_way(site, ada):
    """Have a conversion run as far as the gateway, which keeps it waiting."""
    pdf, held = new_pdf(), Held()
    site.will_get(pdf, Reply(body=held))
    job_id = ada.send_new(pdf)
    site.wait_for_calls(pdf, 1)
    return pdf, held, job_id


def lease_of(job):
    return job["holder"], job["lease_until"]


def lasts_s(job):
    """How long after the beginning of the attempt its lease ends, as it stands."""
    until, since = (datetime.fromisoformat(job[name]) for name in ("lease_until", "attempt_at"))
    return (until - since).total_seconds()


def test_a_conversion_whose_worker_is_killed_is_taken_over_and_leaves_one_xml(site, worker):
    ada, killed = site.visit(), worker()
    pdf, held, job_id = under_way(site, ada)
    before = ada.job(job_id)
    worker()

    killed.send(signal.SIGKILL)
    killed.ended()
    site.wait_for_calls(pdf, 2)
    after = ada.job(job_id)
    held.release()

    assert ada.ended(job_id)["state"] == "complete"
    assert before["state"] == after["state"] == "processing"
    assert None not in {*lease_of(before), *lease_of(after)}
    assert before["holder"] != after["holder"]
    first, second = site.calls_for(pdf)
    assert second.started_at_s - first.started_at_s >= LEASE_S
    done = ada.job(job_id)
    assert (done["attempt"], lease_of(done)) == (2, (None, None))
    assert site.xml_of(job_id) == [f"{job_id}.xml"]
    assert ada.download(job_id).content == XML


def test_a_worker_that_wakes_up_after_its_lease_changes_nothing(site, worker):
    ada, sleeper = site.visit(), worker()
    pdf, held, job_id = under_way(site, ada)
    sleeper.send(signal.SIGSTOP)
    worker()
    site.wait_for_calls(pdf, 2)
    held.release()
    assert ada.ended(job_id)["state"] == "complete"
    done = ada.job(job_id)

    sleeper.send(signal.SIGCONT)
    sleeper.send(signal.SIGTERM)
    sleeper.ended()

    assert ada.job(job_id) == done
    assert site.xml_of(job_id) == [f"{job_id}.xml"]
    assert len(site.calls_for(pdf)) == 2


def test_a_call_that_outlasts_its_lease_keeps_it_and_is_made_once(site, worker):
    ada = site.visit()
    worker()
    worker()
    pdf, held, job_id = under_way(site, ada)
    taken = ada.job(job_id)

    def outlasting():
        job = ada.job(job_id)
        return job if lasts_s(job) > 2 * LEASE_S else None

    renewed = eventually(outlasting, "the call takes longer than the lease, which is renewed")
    held.release()

    assert ada.ended(job_id)["state"] == "complete"
    assert renewed["holder"] == taken["holder"]
    done = ada.job(job_id)
    assert (done["attempt"], lease_of(done)) == (1, (None, None))
    assert len(site.calls_for(pdf)) == 1


def test_on_sigterm_a_conversion_is_finished(site, worker):
    ada, ending = site.visit(), worker()
    pdf, held, job_id = under_way(site, ada)

    ending.send(signal.SIGTERM)
    eventually(lambda: "draining" in ending.said, "it drains")
    waiting = ada.send_new(new_pdf())
    held.release()

    assert ending.ended() == 0
    assert ada.conversion(job_id)["state"] == "complete"
    assert lease_of(ada.job(job_id)) == (None, None)
    assert ada.conversion(waiting)["state"] == "queued"
    assert len(site.calls_for(pdf)) == 1


def test_on_sigterm_what_cannot_be_finished_is_handed_back_as_it_was(site, worker):
    ada, ending = site.visit(), worker("--grace", "100ms")
    pdf, held, job_id = under_way(site, ada)

    ending.send(signal.SIGTERM)

    assert ending.ended() == 0
    job = ada.job(job_id)
    assert (job["state"], job["attempt"], lease_of(job)) == ("queued", 0, (None, None))
    held.release()
    worker()
    assert ada.ended(job_id)["state"] == "complete"
    assert site.xml_of(job_id) == [f"{job_id}.xml"]
    assert len(site.calls_for(pdf)) == 2
