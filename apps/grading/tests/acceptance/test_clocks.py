"""Instances of main whose clocks are five minutes off, before and behind."""

import json
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx2
import pytest

from apps.grading.tests.acceptance.fleet import Fleet, Front
from apps.grading.tests.brokered import broker_config, publish
from apps.grading.tests.running import wait_for
from apps.grading.tests.sides import ESSAY, Main, completed, made_main
from grading.main.views.view import SubmissionView
from grading.messages.contract import CALLBACK
from grading.tables.times import from_us
from tests.bridges.broker import drained

pytestmark = pytest.mark.timeout(400)
OFF_BY_S = 300.0
SLA_S = 60.0
"""Less than the clocks are wrong by: an instance that went by its own would end all at once."""
WRONG = timedelta(seconds=OFF_BY_S / 2)
"""What a wrong clock would be off by at least; a busy machine is not that late."""


def shift_of(front: Front, main: Main) -> timedelta:
    """Return how far the clock of an instance is from that of the database."""
    said = httpx2.get(f"{front.address}/api/questions").headers["Date"]
    return parsedate_to_datetime(said) - from_us(main.app.clock.now())


def handed_in(front: Front) -> str:
    body = {"skill": "writing", "questionId": "w2-tourism", "answer": {"text": ESSAY}}
    answer = httpx2.post(f"{front.address}/api/submissions", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()["submissionId"]


def test_clocks_five_minutes_off_time_nothing_out_too_early_or_too_late(
    postgres_url: str, amqp_url: str, tmp_path: Path
):
    config = broker_config(amqp_url, tmp_path)
    requests: dict[str, dict] = {}

    def requested(count: int) -> bool:
        for each in drained(amqp_url, f"{config.queue_prefix}grading.request"):
            body = json.loads(each.body)
            requests[body["submissionId"]] = body
        return len(requests) >= count

    def answer(submission_id: str) -> None:
        body = json.dumps(completed(requests[submission_id])).encode()
        publish(amqp_url, config, body, message_type=CALLBACK)

    with (
        made_main(postgres_url, sla_writing_s=1.0) as hasty,
        Fleet(config, postgres_url, None, tmp_path) as fleet,
    ):

        def view(submission_id: str) -> SubmissionView:
            return hasty.submissions.get(submission_id, owner=None)

        def ended(submission_id: str) -> SubmissionView:
            wait_for(lambda: view(submission_id).has_ended, what=f"the end of {submission_id}")
            return view(submission_id)

        sla = {"SLA_WRITING_MS": str(int(SLA_S * 1000))}
        fronts = [fleet.front(off_by_s=off_by_s, **sla) for off_by_s in (OFF_BY_S, -OFF_BY_S)]
        for front in fronts:
            front.ready()
        shifts = [shift_of(front, hasty) for front in fronts]
        before = from_us(hasty.app.clock.now())
        in_time = [handed_in(front) for front in fronts for _ in range(3)]
        wait_for(lambda: requested(6), what="the requests")
        for submission_id in in_time:
            answer(submission_id)
        completes = [ended(each) for each in in_time]
        fronts[0].process.end()
        too_late = hasty.submit().view.submission_id
        timed_out = ended(too_late)
        wait_for(lambda: requested(7), what="the last request")
        answer(too_late)
        late = wait_for(lambda: view(too_late).is_late and view(too_late), what="the late result")
        finished = hasty.app.job(too_late).finished_at

    assert shifts[0] > WRONG
    assert shifts[1] < -WRONG
    assert {each.status for each in completes} == {"COMPLETED"}
    for each in completes:
        assert abs(each.created_at - before) < WRONG
        assert each.deadline_at - each.created_at == timedelta(seconds=SLA_S)
    assert (timed_out.status, timed_out.failure_reason) == ("FAILED", "TIMEOUT")
    assert timedelta(0) < finished - timed_out.deadline_at < WRONG
    assert (late.status, late.failure_reason) == ("FAILED", "TIMEOUT")
